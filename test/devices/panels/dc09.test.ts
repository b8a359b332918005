import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createReceiver, type ReceivedPanel, type Receiver, type ReceiverOptions } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import type { Signal } from '#site/model/index.ts';
import { frame, frameOf, nameOf, type Said, stamp, tell } from '../../harness/dc09.ts';
import { until } from './broker.ts';
import { panel } from './helpers.ts';

const key = 'a-key-of-16-char';

interface Rig {
  readonly receiver: Receiver;
  readonly signals: Signal[];
  readonly clock: ManualClock;
  readonly lines: string[];
  readonly metrics: Registry;
  say(said: Partial<Said> & { data?: string }, more?: { udp?: boolean }): Promise<string | undefined>;
  count(result: string): Promise<number>;
}

const receivers: Receiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.stop();
});

interface Given {
  readonly dc09?: Record<string, unknown>;
  readonly key?: string;
  readonly emit?: (signals: readonly Signal[]) => Promise<void>;
  readonly knowsTime?: boolean;
  readonly partitions?: Record<string, string>;
  readonly listen?: string;
  readonly provenMs?: number;
  readonly memory?: ReceiverOptions['memory'];
  readonly clock?: ManualClock;
}

/** What stays when the receiver starts again. */
function memoryOf(): ReceiverOptions['memory'] {
  const kept = new Map<string, string>();
  return {
    get: async (key) => kept.get(key),
    set: async (key, value) => void kept.set(key, value),
  };
}

async function receiving(given: Given = {}): Promise<Rig> {
  const { dc09, ...entry } = panel({
    id: 'main',
    profile: 'sia-dc09',
    partitions: given.partitions ?? { p1: '1' },
    zones: {
      '1': { type: 'entry_exit_1' },
      '2': { type: 'perimeter' },
      '3': { type: 'panic_silent', key: ['duress', '3'] },
      '4': { type: 'fire', key: 'fire' },
    },
    dc09: { account: '1234', ...given.dc09 },
  });
  if (dc09 === undefined) throw new Error('no dc09');
  const { key: _, ...rest } = dc09;
  const received: ReceivedPanel = { ...entry, dc09: { ...rest, ...(given.key && { key: new Secret(given.key) }) } };
  const clock = given.clock ?? manualClock();
  const lines: string[] = [];
  const signals: Signal[] = [];
  const metrics = new Registry();
  const receiver = createReceiver({
    dc09: { listen: given.listen ?? '127.0.0.1:0', transports: ['tcp', 'udp'] },
    panels: [received],
    partitionsOf: () => ['p1'],
    knowsTime: () => given.knowsTime ?? true,
    timezone: () => 'Europe/Berlin',
    memory: given.memory ?? memoryOf(),
    ...(given.provenMs !== undefined && { provenMs: given.provenMs }),
    clock,
    log: pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }),
    metrics,
    emit:
      given.emit ??
      (async (more) => {
        signals.push(...more);
      }),
  });
  receivers.push(receiver);
  await receiver.start(new AbortController().signal);
  return {
    receiver,
    signals,
    clock,
    lines,
    metrics,
    say(said, more) {
      const text = frameOf({ seq: '0001', account: '1234', wallMs: clock.wall(), ...said });
      return tell(receiver.port ?? 0, text, more);
    },
    async count(result) {
      const metric = await metrics.getSingleMetric('siteward_dc09_frames_total')?.get();
      return (metric?.values ?? [])
        .filter(({ labels }) => labels.result === result)
        .reduce((sum, { value }) => sum + value, 0);
    },
  };
}

/** Signals without what is the same in all of them, without the name of their report, and without the link. */
const told = (signals: readonly Signal[]) =>
  signals.flatMap((signal) => {
    if (signal.kind === 'link') return [];
    const { source: _, ...rest } = signal;
    return [
      Object.fromEntries(
        Object.entries(rest).filter(
          ([name]) => !['replay', 'report', 'sentAt', 'code', 'apart', 'ends'].includes(name),
        ),
      ),
    ];
  });

describe('a frame', () => {
  it.each([
    ['over TCP', {}],
    ['over UDP', { udp: true }],
  ])('%s is acknowledged with its own sequence, line and account', async (_, more) => {
    const rig = await receiving();
    const answer = await rig.say({ seq: '0042', data: 'Nri1/CL7' }, more);
    expect(answer).toBe(frame('"ACK"0042L0#1234[]'));
    expect(rig.signals[0]).toMatchObject({ kind: 'link', layer: 'device', up: true });
    expect(told(rig.signals)).toEqual([{ kind: 'partition', partition: 'p1', state: 'armed_away', user: '7' }]);
  });

  it('is acknowledged only when what it caused is kept', async () => {
    let keep: () => void = () => {};
    const kept = new Promise<void>((resolve) => {
      keep = resolve;
    });
    const rig = await receiving({ emit: () => kept });
    let answer: string | undefined;
    const asked = rig.say({ data: 'Nri1/BA002' }).then((text) => {
      answer = text;
    });
    await until(
      async () => (await rig.metrics.getSingleMetric('siteward_dc09_connections')?.get())?.values[0]?.value === 1,
      'the call',
    );
    await rig.say({ account: '9999' });
    expect(answer).toBeUndefined();
    keep();
    await asked;
    expect(nameOf(answer ?? '')).toBe('ACK');
  });

  it('gets no answer when it was not kept, and is taken when it comes again', async () => {
    let works = false;
    const signals: Signal[] = [];
    const rig = await receiving({
      emit: async (more) => {
        if (!works) throw new SitewardError('store_failed', 'no disk');
        signals.push(...more);
      },
    });
    const text = frameOf({ seq: '0001', account: '1234', data: 'Nri1/BA002', wallMs: rig.clock.wall() });
    expect(await tell(rig.receiver.port ?? 0, text, { timeoutMs: 300 })).toBeUndefined();
    works = true;
    expect(nameOf((await tell(rig.receiver.port ?? 0, text)) ?? '')).toBe('ACK');
    expect(told(signals)).toEqual([
      { kind: 'zone', zone: '2', alarm: true },
      { kind: 'partition', partition: 'p1', state: 'triggered' },
    ]);
  });

  it('that comes again is acknowledged again and is one event, also at the same moment', async () => {
    const rig = await receiving();
    const answers = await Promise.all(Array.from({ length: 5 }, () => rig.say({ seq: '1660', data: 'Nri1/BA002' })));
    rig.clock.advance(18_000);
    answers.push(await rig.say({ seq: '1660', data: 'Nri1/BA002' }, { udp: true }));
    expect(answers.map((answer) => nameOf(answer ?? ''))).toEqual(Array(6).fill('ACK'));
    expect(told(rig.signals)).toHaveLength(2);
    expect(await rig.count('duplicate')).toBe(5);
  });

  it('with a wrong check sum gets no answer; the next one on the line does', async () => {
    const rig = await receiving();
    const good = frameOf({ seq: '0002', account: '1234', data: 'Nri1/BA002', wallMs: rig.clock.wall() });
    const bad = good.replace('BA002', 'BA001');
    expect(await tell(rig.receiver.port ?? 0, bad + good)).toBe(frame('"ACK"0002L0#1234[]'));
    expect(told(rig.signals)).toHaveLength(2);
    expect(await rig.count('broken')).toBe(1);
  });

  it('of an account nobody has is told so, and changes nothing', async () => {
    const rig = await receiving();
    expect(await rig.say({ account: '9999', data: 'Nri1/BA002' })).toBe(frame('"DUH"0001L0#9999[]'));
    expect(rig.signals).toEqual([]);
    expect(await rig.count('unknown_account')).toBe(1);
    expect(rig.receiver.hints()).toMatchObject([{ kind: 'unknown_key', about: 'account', values: ['9999'] }]);
  });

  it('that cannot be read is told so', async () => {
    const rig = await receiving();
    expect(await rig.say({ data: 'hello' })).toBe(frame('"DUH"0001L0#1234[]'));
    expect(rig.signals).toEqual([]);
  });

  it('without digits after L and without an area closes the only partition (ioBroker.sia#19)', async () => {
    const rig = await receiving({ dc09: { account: '22334455', clock: 'ignored' } });
    const text = '\n78FC003B"SIA-DCS"0001L#22334455[#22334455|NCQ1]_14:33:53,02-09-2020\r';
    expect(await tell(rig.receiver.port ?? 0, text)).toBe(frame('"ACK"0001L#22334455[]'));
    expect(told(rig.signals)).toEqual([{ kind: 'partition', partition: 'p1', state: 'armed_away', user: '1' }]);
  });
});

describe("a panel's clock", () => {
  it('too far off is told the time, and nothing is done', async () => {
    const rig = await receiving();
    const answer = await rig.say({ data: 'Nri1/BA002', wallMs: rig.clock.wall() - 41_000 });
    expect(answer).toBe(frame('"NAK"0000R0L0A0[]_20:00:00,11-27-2026'));
    expect(rig.signals).toEqual([]);
    expect(nameOf((await rig.say({ data: 'Nri1/BA002', wallMs: rig.clock.wall() - 39_000 })) ?? '')).toBe('ACK');
  });

  it('is not judged while siteward does not know the time itself', async () => {
    const rig = await receiving({ knowsTime: false });
    expect(nameOf((await rig.say({ data: 'NRP', wallMs: 0 })) ?? '')).toBe('ACK');
  });

  it('may show local time where the site says so (pysiaalarm#14)', async () => {
    const rig = await receiving({ dc09: { clock: 'local' } });
    const berlin = rig.clock.wall() + 3_600_000;
    expect(nameOf((await rig.say({ seq: '0002', data: 'NRP', wallMs: berlin })) ?? '')).toBe('ACK');
    expect(nameOf((await rig.say({ seq: '0003', data: 'NRP', wallMs: rig.clock.wall() })) ?? '')).toBe('NAK');
  });
});

describe('a report out of the memory of a panel', () => {
  const minutes = (count: number) => count * 60_000;
  it.each([
    ['says how long ago it happened', (now: number) => `[H${stamp(now - minutes(90))}]`, minutes(90)],
    ['may leave the underscore out', (now: number) => `[H${stamp(now - minutes(2)).slice(1)}]`, minutes(2)],
    ['is told among other blocks', (now: number) => `[Vhttp://x][H${stamp(now - minutes(2))}]`, minutes(2)],
    ['of a time to come happened now', (now: number) => `[H${stamp(now + minutes(5))}]`, undefined],
    ['of another year happened now', (now: number) => `[H${stamp(now - 400 * 86_400_000)}]`, undefined],
    ['of no time happened now', () => '[H25:00:00,11-27-2026]', undefined],
    ['of just now happened now', (now: number) => `[H${stamp(now - 1000)}]`, undefined],
  ])('%s', async (_, block, ageMs) => {
    const rig = await receiving();
    const now = rig.clock.wall();
    const text = frame(`"SIA-DCS"0001L0#1234[#1234|Nri1/BA002]${block(now)}${stamp(now)}`);
    expect(nameOf((await tell(rig.receiver.port ?? 0, text)) ?? '')).toBe('ACK');
    const [zone] = rig.signals.filter(({ kind }) => kind === 'zone');
    expect(zone).toMatchObject({ zone: '2', alarm: true, ...(ageMs === undefined ? {} : { ageMs }) });
    if (ageMs === undefined) expect(zone).not.toHaveProperty('ageMs');
  });

  it('is as old as the panel says by its own clock, whatever that shows', async () => {
    const rig = await receiving({ dc09: { clock: 'ignored' } });
    const [sent, happened] = [Date.UTC(2020, 1, 1, 12), Date.UTC(2020, 1, 1, 11)];
    const text = frame(`"SIA-DCS"0001L0#1234[#1234|Nri1/BA002][H${stamp(happened)}]${stamp(sent)}`);
    await tell(rig.receiver.port ?? 0, text);
    expect(rig.signals.find(({ kind }) => kind === 'zone')).toMatchObject({ ageMs: 3_600_000 });
    // Without the time of sending nothing says how old it is.
    const bare = frame(`"SIA-DCS"0002L0#1234[#1234|Nri1/BA002][H${stamp(happened)}]`);
    await tell(rig.receiver.port ?? 0, bare);
    expect(rig.signals.findLast(({ kind }) => kind === 'zone')).not.toHaveProperty('ageMs');
  });
});

describe('encryption', () => {
  it.each(['a-key-of-16-char', 'a-key-of-twenty-four-cha', 'a-key-of-thirty-two-characters-.'])(
    'with the key "%s" is read and answered in the same key',
    async (chosen) => {
      const rig = await receiving({ key: chosen });
      const answer = await rig.say({ data: 'Nri1/BA002', key: chosen });
      expect(nameOf(answer ?? '', chosen)).toBe('ACK');
      expect(told(rig.signals)).toHaveLength(2);
    },
  );

  it('is demanded where there is a key, and of the right key', async () => {
    const rig = await receiving({ key });
    expect(nameOf((await rig.say({ data: 'Nri1/OP1' })) ?? '')).toBe('DUH');
    expect(nameOf((await rig.say({ data: 'Nri1/OP1', key: 'another-16-chars' })) ?? '')).toBe('DUH');
    expect(rig.signals).toEqual([]);
    expect(await rig.count('key')).toBe(2);
    expect(rig.lines.join('\n') + (await rig.metrics.metrics()) + JSON.stringify(rig.receiver.hints())).not.toContain(
      key,
    );
  });
});

describe('a recorded frame that is played again', () => {
  /** Another number in the clear head, and the check sum made to fit: neither is in the cipher. */
  const renumbered = (text: string, seq: string) => frame(text.slice(9, -1).replace(/"\d{4}/, `"${seq}`));
  const armed = ({ signals }: Rig) =>
    signals.flatMap((signal) => (signal.kind === 'partition' ? [signal.state] : [])).at(-1) !== 'disarmed';
  const sent = (rig: Rig, data: string, seq: string, wallMs = rig.clock.wall()) =>
    frameOf({ seq, account: '1234', data, key, wallMs });
  const play = async (rig: Rig, text: string) => nameOf((await tell(rig.receiver.port ?? 0, text)) ?? '', key);

  it.each(['utc', 'ignored'])(
    'disarms nothing under another number, also after a restart (clock: %s)',
    async (clock) => {
      const memory = memoryOf();
      const first = await receiving({ key, memory, dc09: { clock } });
      const opening = sent(first, 'Nri1/OP7', '0001');
      expect(await play(first, opening)).toBe('ACK');
      first.clock.advance(5000);
      expect(await play(first, sent(first, 'Nri1/CL7', '0002'))).toBe('ACK');
      expect(await play(first, renumbered(opening, '7777'))).toBe('NAK');
      expect(armed(first)).toBe(true);
      expect(await first.count('replayed')).toBe(1);
      await first.receiver.stop();

      const second = await receiving({ key, memory, dc09: { clock }, clock: first.clock });
      expect(await play(second, sent(second, 'Nri1/CL7', '0003'))).toBe('ACK');
      expect(await play(second, opening)).toBe('ACK');
      expect(await play(second, renumbered(opening, '7777'))).toBe('NAK');
      expect(armed(second)).toBe(true);
      second.clock.advance(1000);
      expect(await play(second, sent(second, 'Nri1/OP7', '0004'))).toBe('ACK');
      expect(armed(second)).toBe(false);
    },
  );

  it('that never arrived disarms nothing when something newer was heard', async () => {
    const rig = await receiving({ key, dc09: { clock: 'ignored' } });
    const kept = sent(rig, 'Nri1/OP7', '0001');
    rig.clock.advance(30 * 86_400_000);
    await play(rig, sent(rig, 'Nri1/CL7', '0002'));
    expect(await play(rig, kept)).toBe('NAK');
    expect(armed(rig)).toBe(true);
  });

  it.each(['CL7', 'BH002', 'BB002', 'TR002'])(
    'changes nothing either when it is %s, and an alarm passes',
    async (what) => {
      const rig = await receiving({ key });
      const recorded = sent(rig, `Nri1/${what}`, '0001');
      expect(await play(rig, recorded)).toBe('ACK');
      const before = rig.signals.length;
      for (const answer of ['NAK', 'NAK', 'ACK', 'ACK'])
        expect(await play(rig, renumbered(recorded, '7777'))).toBe(answer);
      expect(rig.signals.slice(before)).toEqual([]);
      // The same frame again is the panel, which has not heard the answer.
      expect(await play(rig, recorded)).toBe('ACK');
      const alarm = sent(rig, 'Nri1/FA004', '0002');
      await play(rig, alarm);
      await play(rig, renumbered(alarm, '7778'));
      expect(told(rig.signals.slice(before)).filter((one) => one.alarm === true)).toHaveLength(2);
    },
  );

  it.each(['utc', 'ignored'])(
    'is none after a link test alone, and at last is acknowledged (clock: %s)',
    async (clock) => {
      const rig = await receiving({ key, dc09: { clock } });
      await play(rig, sent(rig, 'Nri1/CL7', '0001'));
      rig.clock.advance(1000);
      const opening = sent(rig, 'Nri1/OP7', '0002');
      rig.clock.advance(3000);
      const test = frameOf({ id: 'NULL', seq: '0000', account: '1234', key, wallMs: rig.clock.wall() });
      expect(await play(rig, test)).toBe('ACK');
      expect(await play(rig, opening)).toBe('ACK');
      expect(armed(rig)).toBe(false);
      // Behind an alarm of the panel it is too late; its queue goes on all the same.
      await play(rig, sent(rig, 'Nri1/CL7', '0003'));
      const late = sent(rig, 'Nri1/OP8', '0005', rig.clock.wall() - 1000);
      for (const answer of ['NAK', 'NAK', 'ACK']) expect(await play(rig, late)).toBe(answer);
      expect(armed(rig)).toBe(true);
    },
  );

  it('as a flood of datagrams keeps nothing from the connection of the panel', async () => {
    const rig = await receiving({ key });
    const recorded = frameOf({ id: 'NULL', seq: '0000', account: '1234', key, wallMs: rig.clock.wall() });
    const socket = createSocket('udp4');
    for (let n = 0; n < 12; n += 1) {
      for (let m = 0; m < 40; m += 1) socket.send(recorded, rig.receiver.port ?? 0, '127.0.0.1');
      await until(async () => (await rig.count('rate')) + (await rig.count('link_test')) > n * 20, 'some');
    }
    await until(async () => (await rig.count('rate')) > 0, 'the limit');
    expect(await play(rig, sent(rig, 'Nri1/FA004', '0001'))).toBe('ACK');
    socket.close();
  });

  it('keeps no alarm back', async () => {
    const rig = await receiving({ key });
    const old = rig.clock.wall() - 10_000;
    await play(rig, sent(rig, 'Nri1/CL7', '0001'));
    expect(await play(rig, sent(rig, 'Nri1/FA004', '0002', old))).toBe('ACK');
    expect(await play(rig, sent(rig, 'Nri1/OP7FA004', '0003', old))).toBe('NAK');
    expect(told(rig.signals).filter(({ alarm }) => alarm === true)).toHaveLength(2);
    expect(armed(rig)).toBe(true);
  });

  it('is told from two openings of one second', async () => {
    const rig = await receiving({ key });
    expect(await play(rig, sent(rig, 'Nri1/CL7', '0001'))).toBe('ACK');
    expect(await play(rig, sent(rig, 'Nri1/OP7', '0002'))).toBe('ACK');
    expect(await play(rig, sent(rig, 'Nri1/OP8', '0003'))).toBe('ACK');
    expect(rig.signals.filter((signal) => signal.kind === 'partition')).toHaveLength(3);
  });

  it('is not known while the memory cannot be read: no opening is taken, every alarm is', async () => {
    const get = () => Promise.reject(new SitewardError('store_failed', 'no disk'));
    const rig = await receiving({ key, memory: { ...memoryOf(), get } });
    const silent = tell(rig.receiver.port ?? 0, sent(rig, 'Nri1/OP7', '0001'), { timeoutMs: 300 });
    expect(await silent).toBeUndefined();
    expect(await play(rig, sent(rig, 'Nri1/BA002', '0002'))).toBe('ACK');
  });

  it('is acknowledged in the end without an effect where nobody can judge it, so that the alarms behind it come through', async () => {
    const get = () => Promise.reject(new SitewardError('store_failed', 'it is being read back'));
    const rig = await receiving({ key, memory: { ...memoryOf(), get } });
    const answers: (string | undefined)[] = [];
    for (let n = 0; n < 6; n += 1) {
      // With the time of the sending, as panels write it.
      rig.clock.advance(18_000);
      const answer = await tell(rig.receiver.port ?? 0, sent(rig, 'Nri1/OP7BA002', '0001'), { timeoutMs: 300 });
      answers.push(answer === undefined ? undefined : nameOf(answer, answer.includes('"*') ? key : undefined));
    }
    expect(answers).toEqual([undefined, undefined, undefined, 'NAK', 'NAK', 'ACK']);
    const states = rig.signals.flatMap((signal) => (signal.kind === 'partition' ? [signal.state] : []));
    expect(states).not.toContain('disarmed');
    expect(told(rig.signals)).toContainEqual({ kind: 'zone', zone: '2', alarm: true });
    // A panel that does not count writes the same the next day.
    rig.clock.advance(86_400_000);
    const next = await tell(rig.receiver.port ?? 0, sent(rig, 'Nri1/OP7BA002', '0001'), { timeoutMs: 300 });
    expect(next).toBeUndefined();
  });

  it('is never held against a panel whose clock was wrong while siteward did not know the time', async () => {
    const given = { memory: memoryOf(), key };
    const first = await receiving({ ...given, knowsTime: false });
    expect(await play(first, sent(first, 'Nri1/OP7', '0001', first.clock.wall() + 9e10))).toBe('ACK');
    const second = await receiving({ ...given, clock: first.clock });
    await play(second, sent(second, 'Nri1/CL7', '0002'));
    expect(await play(second, sent(second, 'Nri1/OP7', '0003'))).toBe('ACK');
    expect(armed(second)).toBe(false);
  });

  it('of another account is refused where there is a key, all but its alarms', async () => {
    const rig = await receiving({ key });
    const other = (seq: string, data: string) => {
      const text = frameOf({ seq, account: 'AB12', data, key, wallMs: rig.clock.wall() });
      return play(rig, frame(text.slice(9, -1).replace('#AB12[', '#1234[')));
    };
    expect(await other('0001', 'Nri1/OP1')).toBe('DUH');
    expect(told(rig.signals)).toEqual([]);
    expect(await rig.count('unread')).toBe(1);
    expect(await other('0002', 'Nri1/OP1BA002')).toBe('ACK');
    expect(told(rig.signals)).toEqual([
      { kind: 'zone', zone: '2', alarm: true },
      { kind: 'partition', partition: 'p1', state: 'triggered' },
    ]);
  });

  it('in clear may carry the account of a partition, which shows nothing there', async () => {
    const rig = await receiving();
    for (const [seq, data] of [
      ['0001', 'Nri1/BA002'],
      ['0002', 'Nri1/OP1'],
    ] as const) {
      const text = frameOf({ seq, account: 'AB12', data, wallMs: rig.clock.wall() });
      expect(await play(rig, frame(text.slice(9, -1).replace('#AB12[', '#1234[')))).toBe('ACK');
    }
    expect(told(rig.signals)).toContainEqual({ kind: 'zone', zone: '2', alarm: true });
    expect(armed(rig)).toBe(false);
  });
});

describe('a panel that begins its numbers anew', () => {
  it('loses no closing and no alarm', async () => {
    const rig = await receiving();
    for (let n = 0; n < 2; n += 1) {
      for (const [seq, data] of [
        ['0101', 'Nri1/CL7'],
        ['0102', 'Nri1/BA002'],
        ['0103', 'Nri1/OP7'],
      ] as const) {
        await rig.say({ seq, data });
        // As panels do until the answer has come.
        rig.clock.advance(1000);
        await rig.say({ seq, data });
      }
    }
    const states = rig.signals.flatMap((signal) => (signal.kind === 'partition' ? [signal.state] : []));
    expect(states).toEqual(['armed_away', 'triggered', 'disarmed', 'armed_away', 'triggered', 'disarmed']);
    // The site must not take the second for the first.
    const names = rig.signals.flatMap((signal) => (signal.kind === 'zone' && signal.alarm ? [signal.report] : []));
    expect(new Set(names).size).toBe(2);
  });

  it('or gives all of them the same', async () => {
    const rig = await receiving();
    for (const data of ['Nri1/CL7', 'Nri1/BA002', 'Nri1/BA002', 'Nri1/OP7', 'Nri1/CL7']) {
      await rig.say({ data });
      rig.clock.advance(1000);
    }
    expect(told(rig.signals).filter(({ alarm }) => alarm === true)).toHaveLength(2);
    expect(told(rig.signals).at(-1)).toMatchObject({ state: 'armed_away' });
  });
});

describe('a panel without a clock that repeats every frame for ever', () => {
  it('makes one event of each, disarms nothing, and counts as heard', async () => {
    const rig = await receiving({ dc09: { supervised: '60s' } });
    const say = (seq: string, data: string) =>
      tell(rig.receiver.port ?? 0, frame(`"SIA-DCS"${seq}L0#1234[#1234|${data}]`));
    await say('0001', 'Nri1/OP7');
    await say('0002', 'Nri1/CL7');
    await say('0003', 'Nri1/BA002');
    const before = rig.signals.length;
    for (let n = 0; n < 30; n += 1) {
      rig.clock.advance(45_000);
      expect(nameOf((await say('0001', 'Nri1/OP7')) ?? '')).toBe('ACK');
      await say('0003', 'Nri1/BA002');
    }
    // What the site is reminded of is the same report, so that it stays so over a restart.
    const reminded = rig.signals.slice(before);
    const reports = new Set(
      rig.signals.slice(0, before).flatMap((signal) => ('report' in signal ? [signal.report] : [])),
    );
    expect(reminded.every((signal) => 'report' in signal && reports.has(signal.report))).toBe(true);
    expect(told(reminded)).toHaveLength(15);
    // None of them opens anything, also where the site has forgotten it.
    for (const signal of reminded) if (signal.kind === 'partition') expect(signal.reminder).toBe(true);
    expect(told(reminded)).not.toContainEqual({ kind: 'zone', zone: '2', alarm: false, opening: 'p1' });
  });
});

describe('an address that is taken', () => {
  it('is told, tried again, and used when it is free', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const bound = other.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
    const rig = await receiving({ listen: `127.0.0.1:${port}` });
    expect(rig.receiver.health()).toMatchObject({ state: 'down', facts: { panels: 1, listening: false } });
    expect(rig.receiver.health().reason).toContain('EADDRINUSE');
    other.close();
    await until(() => rig.receiver.health().state === 'ok', 'the port');
    expect(nameOf((await rig.say({ id: 'NULL' })) ?? '')).toBe('ACK');
  });
});

describe('supervision', () => {
  it('tells a panel that does not call any more, once, and that it is back', async () => {
    const rig = await receiving({ dc09: { supervised: '60s' } });
    await rig.say({ id: 'NULL' });
    rig.clock.advance(61_000);
    const links = () => rig.signals.flatMap((signal) => (signal.kind === 'link' ? [signal.up] : []));
    await until(() => links().length === 2, 'the loss');
    expect(links()).toEqual([true, false]);
    await rig.say({ id: 'NULL' });
    await rig.say({ id: 'NULL' });
    expect(links()).toEqual([true, false, true]);
    expect(await rig.count('link_test')).toBe(3);
  });

  const hour = 3_600_000;
  const isTold = (rig: Rig) => rig.signals.some((signal) => signal.kind === 'link' && !signal.up);
  /** Runs one after the other, each of so many hours, until one tells that the panel is silent; `between` them. */
  async function runs(hours: readonly number[], between: (clock: ManualClock) => void = () => {}, given: Given = {}) {
    const clock = manualClock();
    const memory = memoryOf();
    const first = await receiving({ memory, clock, ...given });
    await first.say({ id: 'NULL' });
    let told = -1;
    let rig = first;
    for (const [run, length] of hours.entries()) {
      if (run > 0) {
        await rig.receiver.stop();
        between(clock);
        rig = await receiving({ memory, clock, ...given });
      }
      clock.advance(length * hour);
      // One look at the silence, and one more for what it does.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      if (isTold(rig)) told = run;
      if (told >= 0) break;
    }
    return { told, rig };
  }

  it('goes on over restarts and reloads', async () => {
    expect((await runs([12, 12, 12])).told).toBe(2);
    expect((await runs([12, 12], undefined, { dc09: { supervised: '24h' } })).told).toBe(1);
    const reboot = (clock: ManualClock) => {
      clock.bootId += 'x';
      clock.advance(60_000);
    };
    expect((await runs([12, 12, 12], reboot)).told).toBe(2);
  });

  it('begins anew at most, whatever the clock does and however long nobody could hear the panel', async () => {
    const reboot = (ms: number, more: number) => (clock: ManualClock) => {
      clock.bootId += 'x';
      clock.advance(ms);
      clock.step(more);
    };
    const two = [24, 12] as const;
    expect((await runs(two, reboot(60_000, 365 * 24 * hour))).told).toBe(-1);
    expect((await runs(two, reboot(60_000, -365 * 24 * hour))).told).toBe(-1);
    expect((await runs(two, reboot(60_000, 0), { knowsTime: false })).told).toBe(-1);
    expect((await runs(two, (clock) => clock.advance(48 * hour))).told).toBe(-1);
    // A step of the wall clock within a run of the machine is nothing.
    expect((await runs(two, (clock) => clock.step(365 * 24 * hour))).told).toBe(1);
    // Who comes back has a tenth of the time to be heard.
    expect((await runs([24, 2])).told).toBe(-1);
  });

  it('is over with the panel heard again, also when siteward then ends without warning', async () => {
    const clock = manualClock();
    const memory = memoryOf();
    const first = await receiving({ memory, clock });
    clock.advance(20 * hour);
    await first.receiver.stop();
    const second = await receiving({ memory, clock });
    await second.say({ id: 'NULL' });
    const third = await receiving({ memory, clock });
    clock.advance(10 * hour);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(isTold(third)).toBe(false);
  });

  it('is written now and then only', async () => {
    const memory = memoryOf();
    const values: string[] = [];
    const counting = {
      ...memory,
      set: (name: string, value: string) => {
        if (name.startsWith('heard')) values.push(value);
        return memory.set(name, value);
      },
    };
    const rig = await receiving({ memory: counting, dc09: { supervised: '30s' } });
    for (let n = 0; n < 20; n += 1) {
      await rig.say({ id: 'NULL', seq: String(n).padStart(4, '0') });
      rig.clock.advance(20_000);
    }
    await rig.receiver.stop();
    expect(values).toHaveLength(1);
  });

  it('of a panel that was removed is forgotten', async () => {
    const kept = new Map(['heard-main', 'heard-gone', 'opening-1'].map((name) => [name, '{}']));
    const memory: ReceiverOptions['memory'] = {
      get: async (name) => kept.get(name),
      set: async (name, value) => void kept.set(name, value),
      keys: async () => [...kept.keys()],
      delete: async (name) => void kept.delete(name),
    };
    await receiving({ memory });
    await until(() => kept.size < 3, 'the forgetting');
    expect([...kept.keys()]).toEqual(['heard-main', 'opening-1']);
  });

  it('is not written for the silence between the calls of a panel that is there', async () => {
    const names: string[] = [];
    const memory: ReceiverOptions['memory'] = {
      get: async () => undefined,
      set: async (name) => void names.push(name),
    };
    const rig = await receiving({ memory, dc09: { supervised: '100m' } });
    for (let n = 0; n < 3; n += 1) {
      await rig.say({ id: 'NULL', seq: String(n).padStart(4, '0') });
      // Nobody looks at the silence while so many calls come.
      for (let more = 0; more < 8; more += 1) {
        rig.clock.advance(60_000);
        await rig.say({ id: 'NULL', seq: String(n * 10 + more + 10).padStart(4, '0') });
      }
      rig.clock.advance(60_000);
      // One look at the silence, and one more for what it does.
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
    expect(names).toEqual([]);
  });
});

describe('Contact ID', () => {
  it.each([
    ['3401 01 007', [{ kind: 'partition', partition: 'p1', state: 'armed_away', user: '7' }]],
    ['3441 01 007', [{ kind: 'partition', partition: 'p1', state: 'armed_home', user: '7' }]],
    ['1441 01 007', []],
    [
      '1130 01 002',
      [
        { kind: 'zone', zone: '2', alarm: true },
        { kind: 'partition', partition: 'p1', state: 'triggered' },
      ],
    ],
    ['3130 01 002', [{ kind: 'zone', zone: '2', alarm: false }]],
    ['1110 01 000', [{ kind: 'zone', zone: '4', alarm: true }]],
    ['1383 01 002', [{ kind: 'zone', zone: '2', tamper: true }]],
    ['1384 01 002', [{ kind: 'zone', zone: '2', lowBattery: true }]],
    ['1381 01 002', [{ kind: 'zone', zone: '2', online: false }]],
    ['1570 01 002', [{ kind: 'zone', zone: '2', bypassed: true }]],
    ['1301 00 000', [{ kind: 'trouble', trouble: 'ac_loss', active: true }]],
    ['3301 00 000', [{ kind: 'trouble', trouble: 'ac_loss', active: false }]],
    // The number of a module, not of a zone.
    ['1341 00 002', [{ kind: 'trouble', trouble: 'tamper', active: true }]],
    ['6130 01 002', []],
    ['1602 00 000', [{ kind: 'test', test: 'periodic' }]],
    ['1601 00 000', [{ kind: 'test', test: 'manual' }]],
    ['3602 00 000', []],
  ])('%s', async (data, signals) => {
    const rig = await receiving();
    expect(nameOf((await rig.say({ id: 'ADM-CID', data })) ?? '')).toBe('ACK');
    expect(told(rig.signals)).toEqual(signals);
  });

  it('441 and 456 as openings arm a part where the site says so', async () => {
    const rig = await receiving({ dc09: { part_arming: 'opening' } });
    await rig.say({ seq: '0001', id: 'ADM-CID', data: '1456 01 007' });
    await rig.say({ seq: '0002', id: 'ADM-CID', data: '3456 01 007' });
    expect(told(rig.signals)).toMatchObject([{ state: 'armed_home' }, { state: 'disarmed' }, {}, {}]);
  });
});

describe('what panels leave unsaid', () => {
  it('an opening ends the alarms of its partition, the disarm first', async () => {
    const rig = await receiving();
    await rig.say({ seq: '0001', data: 'Nri1/BA002' });
    await rig.say({ seq: '0002', data: 'Nri1/OP7' });
    expect(told(rig.signals).slice(2, 3)).toEqual([
      { kind: 'partition', partition: 'p1', state: 'disarmed', user: '7' },
    ]);
    expect(told(rig.signals)).toContainEqual({ kind: 'zone', zone: '2', alarm: false, opening: 'p1' });
    const before = rig.signals.length;
    await rig.say({ seq: '0003', data: 'Nri1/OP7' });
    expect(told(rig.signals.slice(before))).toHaveLength(1);
  });

  it('an alarm in another frame is another report', async () => {
    const rig = await receiving();
    await rig.say({ seq: '0001', data: 'Nri1/BA002' });
    await rig.say({ seq: '0002', data: 'Nri1/BA002' });
    expect(
      told(rig.signals)
        .filter(({ kind }) => kind === 'zone')
        .map(({ alarm }) => alarm),
    ).toEqual([true, true]);
    const names = rig.signals.flatMap((signal) => ('report' in signal ? [signal.report] : []));
    expect(new Set(names).size).toBe(2);
  });

  it('a burglary in a zone that is not configured is still an alarm, and a hint', async () => {
    const rig = await receiving();
    await rig.say({ data: 'Nri1/BA099' });
    expect(told(rig.signals)).toEqual([
      { kind: 'partition', partition: 'p1', state: 'triggered', told: 'burglary' },
      { kind: 'alarm', alarm: 'burglary', partition: 'p1' },
    ]);
    expect(rig.receiver.hints()).toMatchObject([{ panel: 'main', kind: 'unknown_key', about: 'zone 99' }]);
  });

  it('an area that is not configured changes nothing and is a hint', async () => {
    const rig = await receiving({ partitions: { p1: '1', p2: '2' } });
    await rig.say({ data: 'Nri5/OP7' });
    expect(told(rig.signals)).toEqual([]);
    expect(rig.receiver.hints()).toMatchObject([{ kind: 'unknown_key', about: 'partition 5' }]);
  });

  it('a code siteward does not know is acknowledged, and a hint', async () => {
    const rig = await receiving();
    expect(nameOf((await rig.say({ data: 'NZZ1' })) ?? '')).toBe('ACK');
    expect(told(rig.signals)).toEqual([]);
    expect(rig.receiver.hints()).toMatchObject([{ kind: 'unknown_value', values: ['ZZ'] }]);
  });
});

describe('a silent hold-up (safety 4)', () => {
  it('goes to its own zone, whatever number the user has, and stands in no count, log or hint', async () => {
    const rig = await receiving();
    await rig.say({ id: 'NULL', seq: '0000' });
    const [lines, metrics, hints] = [rig.lines.length, await framesOf(rig), rig.receiver.hints()];
    expect(nameOf((await rig.say({ id: 'ADM-CID', data: '1121 01 002' })) ?? '')).toBe('ACK');
    const pressed = { kind: 'zone', zone: '3', alarm: true };
    expect(told(rig.signals)).toEqual([pressed]);
    // No panel tells the end of a code under duress: the second one is a second alarm.
    await rig.say({ id: 'ADM-CID', seq: '0777', data: '1121 01 002' });
    expect(told(rig.signals)).toEqual([pressed, pressed]);
    expect([rig.lines.length, await framesOf(rig), rig.receiver.hints()]).toEqual([lines, metrics, hints]);
  });

  it('that its panel reports as a burglary is a hold-up all the same, and sets off nothing else', async () => {
    const rig = await receiving();
    await rig.say({ id: 'NULL', seq: '0000' });
    const [lines, metrics, hints] = [rig.lines.length, await framesOf(rig), rig.receiver.hints()];
    await rig.say({ data: 'Nri1/BA003' });
    await rig.say({ seq: '0002', data: 'Nri1/BH003' });
    expect(told(rig.signals)).toEqual([true, false].map((alarm) => ({ kind: 'zone', zone: '3', alarm })));
    expect([rig.lines.length, await framesOf(rig), rig.receiver.hints()]).toEqual([lines, metrics, hints]);
  });
});

const framesOf = (rig: Rig) => rig.metrics.getSingleMetricAsString('siteward_dc09_frames_total');

describe('bad callers', () => {
  it('beyond the rate get no answer, and are counted', async () => {
    const rig = await receiving();
    const text = frameOf({ id: 'NULL', seq: '0000', account: '1234', wallMs: rig.clock.wall() });
    const socket = connect(rig.receiver.port ?? 0, '127.0.0.1');
    let acks = 0;
    socket.on('data', (bytes) => {
      acks += bytes.toString('latin1').split('"ACK"').length - 1;
    });
    socket.write(text.repeat(300), 'latin1');
    await until(async () => (await rig.count('rate')) === 100, 'the refusals');
    await until(() => acks === 200, 'the answers');
    socket.destroy();
  });

  it('that send broken frames without end fill no log and no memory', async () => {
    const rig = await receiving();
    const broken = frameOf({ seq: '0001', account: '1234', data: 'Nri1/OP1' }).replace('OP1', 'OP2');
    const socket = connect(rig.receiver.port ?? 0, '127.0.0.1');
    for (let i = 0; i < 100; i += 1) socket.write(broken.repeat(100), 'latin1');
    await until(async () => (await rig.count('rate')) + (await rig.count('broken')) === 10_000, 'all of them');
    socket.destroy();
    expect([rig.lines, rig.signals, rig.receiver.hints()]).toEqual([[], [], []]);
  });

  it('that repeat a frame for ever make one event', async () => {
    const rig = await receiving();
    const frame = frameOf({ seq: '0001', account: '1234', data: 'Nri1/BA002', wallMs: rig.clock.wall() });
    const socket = connect(rig.receiver.port ?? 0, '127.0.0.1');
    socket.on('data', () => {});
    for (let i = 0; i < 100; i += 1) socket.write(frame.repeat(100), 'latin1');
    await until(async () => (await rig.count('rate')) === 9800, 'all of them');
    socket.destroy();
    expect(told(rig.signals)).toHaveLength(2);
    expect(rig.lines).toEqual([]);
  });

  it('that never take an answer make one event, however long they go on', async () => {
    const rig = await receiving();
    for (let minute = 0; minute < 60; minute += 5) {
      await rig.say({ data: 'Nri1/BA002' });
      rig.clock.advance(300_000);
    }
    // The site is reminded of the one report it knows.
    expect(new Set(rig.signals.flatMap((signal) => ('report' in signal ? [signal.report] : []))).size).toBe(1);
  });

  it('that send no frame are dropped at the cap', async () => {
    const rig = await receiving();
    expect(await tell(rig.receiver.port ?? 0, 'A'.repeat(100_000))).toBeUndefined();
    expect(await rig.count('overflow')).toBe(1);
  });

  it('cannot hold more than their share of the connections', async () => {
    const rig = await receiving();
    const sockets = Array.from({ length: 12 }, () =>
      connect(rig.receiver.port ?? 0, '127.0.0.1').on('error', () => {}),
    );
    await until(async () => (await rig.count('connections')) === 4, 'the refusals');
    for (const socket of sockets) socket.destroy();
    await until(async () => nameOf((await rig.say({ id: 'NULL' })) ?? '') === 'ACK', 'a place');
  });

  it('that hold every place give way to a panel, where no panel has from', async () => {
    const rig = await receiving();
    const strangers = Array.from({ length: 64 }, (_, n) =>
      connect({
        port: rig.receiver.port ?? 0,
        host: '127.0.0.1',
        localAddress: `127.0.0.${10 + Math.floor(n / 8)}`,
      }).on('error', () => {}),
    );
    const places = async () =>
      (await rig.metrics.getSingleMetric('siteward_dc09_connections')?.get())?.values[0]?.value;
    await until(async () => (await places()) === 64, 'all places');
    rig.clock.advance(2000);
    expect(nameOf((await rig.say({ data: 'Nri1/FA004' })) ?? '')).toBe('ACK');
    for (const socket of strangers) socket.destroy();
  });

  it('that leave their connections behind get a new one in place of the oldest', async () => {
    const rig = await receiving();
    const left: Socket[] = [];
    for (let n = 0; n < 8; n += 1) {
      const socket = connect(rig.receiver.port ?? 0, '127.0.0.1').on('error', () => {});
      left.push(socket);
      socket.write(frameOf({ id: 'NULL', seq: `000${n}`, account: '1234', wallMs: rig.clock.wall() }));
      await once(socket, 'data');
      rig.clock.advance(1000);
    }
    expect(nameOf((await rig.say({ data: 'Nri1/FA004' })) ?? '')).toBe('ACK');
    await until(() => left[0]?.destroyed === true, 'the end of the oldest');
    expect(left.map(({ destroyed }) => destroyed)).toEqual([true, ...Array(7).fill(false)]);
    for (const socket of left) socket.destroy();
  });

  it('that end their side with the frame get its answer', async () => {
    const rig = await receiving();
    const socket = connect({ port: rig.receiver.port ?? 0, host: '127.0.0.1', allowHalfOpen: true });
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes.toString('latin1');
    });
    socket.end(frameOf({ seq: '0001', account: '1234', data: 'Nri1/BA002', wallMs: rig.clock.wall() }));
    await once(socket, 'end');
    expect(nameOf(heard)).toBe('ACK');
  });

  it('from addresses no panel has take no place of a panel', async () => {
    const rig = await receiving({ dc09: { from: ['127.0.0.1'] } });
    const strangers = Array.from({ length: 64 }, (_, n) =>
      connect({
        port: rig.receiver.port ?? 0,
        host: '127.0.0.1',
        localAddress: `127.0.0.${10 + Math.floor(n / 8)}`,
      }).on('error', () => {}),
    );
    await until(async () => (await rig.count('address')) === 64, 'the refusals');
    expect(nameOf((await rig.say({ id: 'NULL' })) ?? '')).toBe('ACK');
    expect(rig.receiver.hints()).toMatchObject([{ kind: 'dropped', about: 'address' }]);
    for (const socket of strangers) socket.destroy();
  });

  it('that send datagrams in the name of a panel keep nothing from its connection', async () => {
    const rig = await receiving();
    const socket = createSocket('udp4');
    for (let n = 0; n < 10; n += 1) {
      for (let m = 0; m < 60; m += 1) socket.send('\n00000000garbage\r', rig.receiver.port ?? 0, '127.0.0.1');
      await until(
        async () => (await rig.count('rate')) + (await rig.count('broken')) + (await rig.count('busy')) > n * 10,
        'some',
      );
    }
    await until(async () => (await rig.count('rate')) > 0, 'the limit');
    expect(nameOf((await rig.say({ data: 'Nri1/BA002' })) ?? '')).toBe('ACK');
    socket.close();
  });

  it('that are no panel are dropped after a while, and a panel is kept', async () => {
    const rig = await receiving({ provenMs: 200 });
    const stranger = connect(rig.receiver.port ?? 0, '127.0.0.1');
    const known = connect(rig.receiver.port ?? 0, '127.0.0.1');
    const text = (account: string) => frameOf({ id: 'NULL', seq: '0000', account, wallMs: rig.clock.wall() });
    let heard = '';
    known.on('data', (bytes) => {
      heard += bytes.toString('latin1');
    });
    stranger.on('data', () => {});
    stranger.write(text('9999'));
    known.write(text('1234'));
    await until(() => stranger.destroyed, 'the end of the stranger');
    expect(await rig.count('unproven')).toBe(1);
    known.write(text('1234'));
    await until(() => heard.split('"ACK"').length === 3, 'the second answer');
    known.destroy();
  });

  it('from another address than the panel get no answer', async () => {
    const rig = await receiving({ dc09: { from: ['192.0.2.0/24'] } });
    expect(
      await tell(
        rig.receiver.port ?? 0,
        frameOf({ seq: '0001', account: '1234', data: 'NOP1', wallMs: rig.clock.wall() }),
        { timeoutMs: 300 },
      ),
    ).toBeUndefined();
    expect(rig.signals).toEqual([]);
    expect(await rig.count('address')).toBe(1);
  });
});
