import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { buildPanels } from '#devices/panels/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Runner } from '../../../src/devices/panels/runner.ts';
import { isThere, messagesOf } from '../../lan/mqtt/bugcases.ts';
import { panel, presets } from './helpers.ts';

/** A Vista tells openings and guesses closings (`bugcases.jsonl` 47). */
function vista(clock: ManualClock, profile = 'vista-ecp'): Runner {
  const zones = { '12': { type: 'perimeter' }, '3': { type: 'entry_exit_1' }, '4': { type: 'fire' } } as const;
  const { built } = buildPanels([panel({ id: 'main', profile, zones })], [presets]);
  const [one] = built;
  if (one === undefined) throw new Error('no panel');
  const runner = new Runner(one, { clock, log: pino({ level: 'silent' }) });
  runner.brokerFound();
  return runner;
}
const say = (runner: Runner, topic: string, text: string, retain = false) =>
  runner.take({ topic, payload: Buffer.from(text), retain });
const over = (runner: Runner) =>
  runner.checkSilence().flatMap((signal) => (signal.kind === 'zone' && signal.openForgotten ? [signal.zone] : []));

describe('a zone whose panel tells no closing', () => {
  it('counts as open for two minutes after its last word, and is forgotten once', () => {
    const clock = manualClock();
    const runner = vista(clock);
    clock.advance(121_000);
    // What an earlier run may have left open; a danger ends by its own word alone.
    expect(over(runner)).toEqual(['3', '12']);
    const [message] = isThere ? messagesOf(47) : [];
    const { topic = 'Vista/Get/Zone12', payload = Buffer.from('ON') } = message ?? {};
    runner.take({ topic, payload, retain: false });
    clock.advance(119_000);
    expect(over(runner)).toEqual([]);
    say(runner, topic, 'ON');
    clock.advance(119_000);
    expect(over(runner)).toEqual([]);
    clock.advance(1000);
    expect(over(runner)).toEqual(['12']);
    clock.advance(600_000);
    expect(over(runner)).toEqual([]);
  });

  it('is closed where its bridge says so, and open again by a retained word too', () => {
    const clock = manualClock();
    const runner = vista(clock);
    say(runner, 'Vista/Get/Zone12', 'ON');
    say(runner, 'Vista/Get/Zone3', 'OFF');
    say(runner, 'Vista/Get/Zone12', 'OFF');
    clock.advance(121_000);
    expect(over(runner)).toEqual([]);
    say(runner, 'Vista/Get/Zone12', 'ON', true);
    clock.advance(121_000);
    expect(over(runner)).toEqual(['12']);
  });

  it('is not forgotten in the time nobody could hear it', () => {
    const clock = manualClock();
    const runner = vista(clock);
    say(runner, 'Vista/Get/Zone3', 'OFF');
    clock.advance(60_000);
    say(runner, 'Vista/Get/Zone12', 'ON');
    runner.brokerLost('gone');
    clock.advance(600_000);
    expect(over(runner)).toEqual([]);
    runner.brokerFound();
    clock.advance(119_000);
    expect(over(runner)).toEqual([]);
    clock.advance(1000);
    expect(over(runner)).toEqual(['12']);
  });

  it('is no zone of a panel that tells closings', () => {
    const clock = manualClock();
    const runner = vista(clock, 'dsc-keybus');
    say(runner, 'dsc/Get/Zone12', '1');
    clock.advance(3_600_000);
    expect(over(runner)).toEqual([]);
  });
});
