import { describe, expect, it } from 'vitest';
import type { Signal } from '#site/model/index.ts';
import { startAedes, startBroker, until } from './broker.ts';
import { panel, startPanels } from './helpers.ts';

const dsc = panel({ id: 'main', profile: 'dsc-keybus', zones: { '7': { type: 'perimeter' } } });

/** What each message about the zone said of its time. */
const waits = (signals: readonly Signal[]) => signals.flatMap((one) => (one.kind === 'zone' ? [one.waited] : []));

describe.each([
  ['mosquitto', () => startBroker()],
  ['the embedded broker', () => startAedes()],
] as const)('%s: a message that waited in the session', (_, start) => {
  it('says so with the moment the panels were heard last, however long the queue takes; what comes then does not', async () => {
    const broker = await start();
    const first = await startPanels({ url: broker.url, panels: [dsc] });
    await until(() => first.panels.health().state === 'ok', 'the subscription');
    await broker.publish('dsc/Get/Zone7', '1');
    await until(() => waits(first.signals).length === 1, 'the first message');
    // There was no session, so nothing waited in it.
    expect(waits(first.signals)).toEqual([undefined]);
    await first.stop();

    const queued = 70;
    for (let i = 0; i < queued; i += 1) await broker.publish('dsc/Get/Zone7', String(i % 2));
    const seen: Signal[] = [];
    const second = await startPanels({
      url: broker.url,
      panels: [dsc],
      heardUntil: 1_800_000_000_000,
      // A slow disk: the queue is not empty for several looks.
      emit: async (signals) => {
        seen.push(...signals);
        await new Promise((resolve) => setTimeout(resolve, 400));
      },
    });
    await until(() => waits(seen).length === queued, 'the queue');
    expect(new Set(waits(seen).map((one) => one?.since))).toEqual(new Set([1_800_000_000_000]));

    await until(async () => {
      // Somebody pauses; the queue's end is found between two messages.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const before = waits(seen).length;
      await broker.publish('dsc/Get/Zone7', '1');
      await until(() => waits(seen).length > before, 'a live message');
      return waits(seen).at(-1) === undefined;
    }, 'a message with a time of its own');
    await second.stop();
    await broker.close();
  });
});

it('after a loss of the connection, what waited happened since then', async () => {
  const cut: (() => void)[] = [];
  const broker = await startAedes((client) => {
    if (client.id.endsWith('-panels')) cut.push(() => client.conn.destroy());
  });
  const rig = await startPanels({ url: broker.url, panels: [dsc], heardUntil: 1 });
  await until(() => rig.panels.health().state === 'ok', 'the subscription');
  const before = Date.now();
  cut[0]?.();
  await until(() => rig.panels.health().state === 'down', 'the loss');
  await broker.publish('dsc/Get/Zone7', '1');
  await until(() => waits(rig.signals).length === 1, 'the message');
  expect(waits(rig.signals)[0]?.since).toBeGreaterThanOrEqual(before);
  await rig.stop();
  await broker.close();
});
