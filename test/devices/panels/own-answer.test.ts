import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerMs } from '#devices/panels/awaited.ts';
import { buildPanels } from '#devices/panels/load.ts';
import { Runner } from '#devices/panels/runner.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { Signal } from '#site/model/index.ts';
import { startAedes, startBroker, until } from './broker.ts';
import { panel, presets, type Rig, startPanels } from './helpers.ts';

const state = 'dsc/Get/Partition1';
const dsc = panel({ id: 'main', profile: 'dsc-keybus' });

/** What was said of the partition: `?` where it was retained, `<` where it may have waited. */
const words = (signals: readonly Signal[]) =>
  signals.flatMap((one) =>
    one.kind === 'partition' ? [`${one.state}${one.replay ? '?' : ''}${one.waited === undefined ? '' : '<'}`] : [],
  );

/** siteward has restarted on a disk that takes nothing: no message is done, so that the end of the queue is never seen. */
describe.each([
  ['mosquitto', () => startBroker()],
  ['the embedded broker', () => startAedes()],
] as const)('%s: a disarm while all that is heard may have waited in the broker', (_, start) => {
  let broker: Awaited<ReturnType<typeof startAedes>>;
  beforeAll(async () => {
    broker = await start();
  });
  afterAll(() => broker.close());

  async function onFullDisk(siteSlug: string, queued: readonly string[]): Promise<{ rig: Rig; got: string[] }> {
    const first = await startPanels({ url: broker.url, panels: [dsc], siteSlug });
    await until(() => first.panels.health().state === 'ok', 'the subscription');
    await first.stop();
    for (const word of queued) await broker.publish(state, word);
    const signals: Signal[] = [];
    const rig = await startPanels({
      ...{ url: broker.url, panels: [dsc], siteSlug },
      emit: (more) => {
        signals.push(...more);
        return new Promise(() => {});
      },
    });
    await until(() => words(signals).length >= queued.length, 'the queue');
    const bridge = await broker.client();
    const got: string[] = [];
    bridge.on('message', (_, payload) => got.push(String(payload)));
    await bridge.subscribeAsync('dsc/Set', { qos: 1 });
    return { rig: { ...rig, signals }, got };
  }
  const disarm = async ({ panels }: Rig, got: string[]) => {
    const before = got.length;
    await until(() => {
      if (got.length === before) panels.send({ panel: 'main', partition: 'p1', action: 'disarm', commandId: 'c' });
      return got.length > before;
    }, 'the command');
  };

  it('is confirmed by the word with which the panel answers', async () => {
    const { rig, got } = await onFullDisk('answer', ['armed_away', 'triggered']);
    await disarm(rig, got);
    expect(words(rig.signals)).toEqual(['armed_away<', 'triggered<']);
    await broker.publish(state, 'disarmed');
    await until(() => words(rig.signals).includes('disarmed'), 'the live word');
    await rig.stop();
  });

  it('is confirmed by nothing that was said before it: queued, or retained', async () => {
    await broker.publish(state, 'disarmed', true);
    const { rig, got } = await onFullDisk('before', ['disarmed', 'armed_away', 'disarmed']);
    await disarm(rig, got);
    // Before a second one leaves, the broker has answered, and with that told all it had.
    await disarm(rig, got);
    expect(words(rig.signals).filter((word) => word.startsWith('disarmed'))).not.toContain('disarmed');
    expect(words(rig.signals)).toContain('disarmed<');
    await broker.publish(state, '', true);
    await rig.stop();
  });
});

describe('the answer on the line of the commands', () => {
  function rig(given: Record<string, unknown>) {
    const clock = manualClock();
    const [one] = buildPanels([panel({ id: 'main', ...given })], [presets]).built;
    if (one === undefined) throw new Error('the panel was not built');
    const runner = new Runner(one, { clock, log: pino({ level: 'silent' }) });
    const message = (topic: string, payload: string) => ({ topic, payload: Buffer.from(payload), retain: false });
    return {
      ...{ clock, runner },
      hears: (topic: string, payload: string, waited = true) => runner.take(message(topic, payload), waited),
      answers: (topic: string, payload: string) => runner.answer(message(topic, payload)),
    };
  }
  const texecom = { profile: 'texecom2mqtt', partitions: { p1: 'house' }, zones: { '1': { type: 'perimeter' } } };
  const area = 'texecom2mqtt/area/house';
  const says = (status: string) => JSON.stringify({ status, last_active_zone: { number: 1 } });

  it('disarms and ends the zones the alarm has named, once', () => {
    const { runner, hears, answers } = rig(texecom);
    hears(area, says('triggered'), false);
    expect(answers(area, says('disarmed'))).toEqual([]);
    runner.awaits('house');
    hears(area, says('disarmed'));
    expect(answers(area, says('disarmed'))).toEqual([
      expect.objectContaining({ kind: 'partition', partition: 'p1', state: 'disarmed', replay: false }),
      expect.objectContaining({ kind: 'zone', zone: '1', alarm: false }),
    ]);
    expect(answers(area, says('disarmed'))).toEqual([]);
  });

  it.each([
    ['armed meanwhile', 'full_armed', true],
    ['in another alarm', 'triggered', true],
    ['disarmed by a live word already', 'disarmed', false],
  ])('counts no more once the panel is %s, as it may be older than that', (_, status, waited) => {
    const { runner, hears, answers } = rig(texecom);
    hears(area, says('full_armed'), false);
    runner.awaits('house');
    hears(area, says(status), waited);
    expect(answers(area, says('disarmed'))).toEqual([]);
  });

  it('counts no more after its time, nor for another partition, nor any other word', () => {
    const { clock, runner, answers } = rig({ ...texecom, partitions: { p1: 'house', p2: 'shed' } });
    runner.awaits('house');
    expect(answers('texecom2mqtt/area/shed', says('disarmed'))).toEqual([]);
    expect(answers(area, says('full_armed'))).toEqual([]);
    clock.advance(answerMs);
    expect(answers(area, says('disarmed'))).toEqual([]);
  });
});
