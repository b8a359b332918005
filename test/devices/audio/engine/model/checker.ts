import type { PlaybackShown } from '#site/model/index.ts';
import type {
  EngineEffect,
  EngineStep,
  Part,
  Playback,
  PlayRequest,
} from '../../../../../src/devices/audio/engine/index.ts';
import type { Heard } from './devices.ts';
import { isEnd, isLifeSafety, keyOf, misshown, open, rank, spares, waitMs } from './facts.ts';
import { Spells } from './spells.ts';
import type { Happening, Witness, World } from './world.ts';

interface RunFacts {
  readonly playback: string;
  readonly speaker: string;
  readonly lane: string;
  readonly key: string | undefined;
  readonly startMs: number;
  readonly chosenAt: number;
  /** It is on disk with this write. */
  readonly write: number;
  /** Silent by then. */
  deadline?: number;
  readyAt?: number;
}

/**
 * What must hold whatever happens, judged by what the speakers did, what is on disk and what people
 * were told. The numbers are those of that list; J: the journal before the sound; S: the safety rules.
 */
export class Checker implements Witness {
  readonly broken = new Set<string>();
  readonly #world: World;
  readonly #runs = new Map<number, RunFacts>();
  readonly #ended = new Map<string, string>();
  /** By playback, and to whom it was told without a row on disk. */
  readonly #told = new Map<string, { seq: number; ends: Map<string, string>; durable: boolean; life: number }>();
  /** Playbacks somebody has ended. */
  readonly #over = new Set<string>();
  /** Parts that sounded before a crash, and had not gone back to wait. */
  readonly #sounded = new Set<string>();
  readonly #askedAt = new Map<string, number>();
  readonly #spells = new Spells();
  /** What was asked for: the engine may have taken it for something else. */
  readonly #asked = new Map<string, Pick<Playback, 'category' | 'alarm'>>();
  /** How often a part has sounded. */
  readonly #times = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    world.witness = this;
    world.devices.onSound = (heard) => this.#sounds(heard);
    world.devices.onSilence = (heard) => this.#silent(heard);
    world.disk.onTell = (playback, durable) => this.#tell(playback, durable);
  }

  #break(rule: string, what: string): void {
    this.broken.add(`${rule}: ${what}`);
  }

  get #now(): number {
    return this.#world.line.now;
  }

  #playback(id: string): Playback | undefined {
    return this.#world.state.playbacks.get(id);
  }

  #rank(row: Playback): number {
    return rank(this.#asked.get(row.id) ?? row);
  }

  #laneOf(speaker: string): string | undefined {
    return this.#world.plan.speakers.find(({ id }) => id === speaker)?.lane;
  }

  effect(effect: EngineEffect, during: Happening): void {
    if (effect.kind === 'prepare') this.#prepares(effect);
    if (effect.kind === 'start') this.#starts(effect);
    if (effect.kind === 'stop') this.#stops(effect.run, during);
    if (effect.kind === 'journal') this.#writes(effect.row);
    if (effect.kind === 'changed') {
      const wrong = misshown(effect.playback);
      if (wrong !== undefined) this.#break('6', wrong);
    }
    if (effect.kind === 'forget') {
      // A part of what its alarm has sounded is known to nobody after a crash.
      const row = this.#world.disk.rows.get(effect.playback);
      if (row !== undefined) this.#spells.lose(keyOf(row) ?? '');
    }
  }

  #prepares({ run, speaker, message, repeat }: Extract<EngineEffect, { kind: 'prepare' }>): void {
    for (const { next } of this.#world.state.lanes.values()) {
      if (next?.run !== run) continue;
      const row = this.#playback(next.playback);
      const key = row === undefined ? undefined : keyOf(row);
      const { lane = '', startMs = 0 } = this.#world.plan.speakers.find(({ id }) => id === speaker) ?? {};
      const { now } = this.#world.line;
      const write = this.#world.state.writes;
      this.#runs.set(run, { playback: next.playback, speaker, lane, key, startMs, chosenAt: now, write });
      if (row?.repeat !== repeat || row.message.sha256 !== message.sha256) this.#break('8', 'prepared something else');
      if (!row?.parts.some((part) => part.speaker === speaker)) this.#break('18', 'on a speaker nobody asked for');
    }
  }

  #starts({ run, durable }: Extract<EngineEffect, { kind: 'start' }>): void {
    const facts = this.#runs.get(run);
    const row = this.#playback(facts?.playback ?? '');
    if (facts === undefined || row === undefined) {
      this.#break('1', 'begins what was not prepared');
      return;
    }
    const { playback, speaker, lane, chosenAt } = facts;
    if (this.#isTaken(lane, run)) this.#break('1', 'two sounds in one lane');
    const written = this.#world.disk.rows.get(playback)?.parts.find((part) => part.speaker === speaker);
    if (durable && written?.begun !== true) this.#break('J', 'begins before it is on disk');
    if (!durable && this.#now - chosenAt < 500) this.#break('J', 'does not wait for the disk');
    for (const other of open(this.#world.state)) {
      if (other.part.status !== 'queued' || other.playback.id === playback) continue;
      if (this.#laneOf(other.part.speaker) === lane && this.#rank(other.playback) > this.#rank(row))
        this.#break('4', `${row.category} begins while ${other.playback.category} waits`);
    }
    if (this.#over.has(playback)) this.#break('7', 'begins what somebody has ended');
    if (this.#sounded.has(`${playback} ${speaker}`)) this.#break('9', 'plays again what sounded before a crash');
  }

  /** Something has the speakers of a lane. */
  #isTaken(lane: string, but?: number): boolean {
    for (const other of this.#world.devices.active.values())
      if (other.run !== but && other.startedAt !== undefined && this.#runs.get(other.run)?.lane === lane) return true;
    return false;
  }

  #stops(run: number, during: Happening): void {
    const facts = this.#runs.get(run);
    const row = this.#playback(facts?.playback ?? '');
    if (facts === undefined || row === undefined) return;
    if (during.kind === 'hush' && isLifeSafety(this.#rank(row))) this.#break('S1', 'a disarm ends life safety');
    const reason = [...this.#world.state.lanes.values()].find(({ sound }) => sound?.run === run)?.sound?.ending?.reason;
    if (reason === 'user' && this.#rank(row) >= 3 && spares(during)) this.#break('S', 'a cancel ends an alarm');
    if (reason !== 'preempted') return;
    const above = [...open(this.#world.state)].some(
      ({ playback, part }) =>
        this.#laneOf(part.speaker) === this.#laneOf(facts.speaker) &&
        this.#rank(playback) >= 3 &&
        this.#rank(playback) > this.#rank(row),
    );
    if (!above) this.#break('5', `${row.category} makes way for nothing above it`);
  }

  #writes(row: Playback): void {
    for (const part of row.parts) {
      const key = `${row.id} ${part.speaker}`;
      const known = this.#ended.get(key);
      const is = `${part.status} ${part.reason}`;
      if (known !== undefined && known !== is) this.#break('2', `${known} becomes ${is}`);
      if (known === undefined && isEnd(part.status)) this.#ends(row, part);
      if (isEnd(part.status)) this.#ended.set(key, is);
      if (part.cuts > 0) this.#spells.lose(keyOf(row) ?? '');
    }
  }

  #ends(row: Playback, { speaker, status, reason }: Part): void {
    if ((reason === 'unhealthy' || reason === 'quiet_hours') && this.#rank(row) >= 3)
      this.#break('S1', `${reason} for an alarm`);
    if (status !== 'completed') return;
    const runs = [...this.#runs].filter(([, facts]) => facts.playback === row.id && facts.speaker === speaker);
    const heard = this.#world.devices.runs.get(runs.at(-1)?.[0] ?? 0);
    const { from = Number.NaN, to = Number.NaN, lengthMs = Number.NaN, order } = heard ?? {};
    if (!(to - from >= lengthMs * 0.9) || order?.repeat !== row.repeat) this.#break('8', 'completed without all of it');
  }

  stepped(input: Happening, done: EngineStep): void {
    if (input.kind === 'play' && done.answer?.outcome === 'accepted') this.#accepted(input.request);
    if (input.kind === 'play' && done.answer?.outcome === 'refused') this.#refused(input.request, done.answer.reason);
    if (input.kind === 'cancel') {
      const { target } = input;
      if (typeof target === 'object' && 'playback' in target) this.#mustEnd(({ id }) => id === target.playback);
      if (target === 'all') this.#mustEnd((playback) => input.alarms || this.#rank(playback) < 3);
    }
    if (input.kind === 'hush')
      this.#mustEnd(
        ({ id, alarm = this.#asked.get(id)?.alarm }) =>
          alarm?.cause === 'burglary' && [alarm.partition, 'all'].includes(input.partition),
        300,
      );
    if (input.kind === 'recover') this.#recovered();
    this.#checkRuns();
    this.#checkBounds();
  }

  #accepted({ id, category, alarm }: PlayRequest): void {
    this.#asked.set(id, alarm === undefined ? { category } : { category: 'alarm', alarm });
    const row = this.#playback(id);
    this.#askedAt.set(id, this.#now);
    if (row === undefined || this.#rank(row) < 3) return;
    for (const part of row.parts) {
      if (part.status !== 'queued') continue;
      for (const [run, facts] of this.#runs) {
        const below = this.#playback(facts.playback);
        if (below === undefined || this.#rank(below) >= this.#rank(row)) continue;
        if (this.#laneOf(facts.speaker) === this.#laneOf(part.speaker))
          this.#silentBy(run, this.#stopMs(facts.speaker));
      }
    }
  }

  /** What is lower gives way in a full queue. */
  #refused({ category, alarm, speakers }: PlayRequest, reason: string): void {
    if (reason !== 'queue_full') return;
    const asked = rank({ category, ...(alarm !== undefined && { alarm }) });
    const { plan, state } = this.#world;
    const lanes = plan.speakers.filter(({ id }) => speakers?.includes(id) ?? true).map(({ lane }) => lane);
    const sounds = [...state.lanes.values()].map(({ sound }) => `${sound?.playback} ${sound?.speaker}`);
    for (const { playback, part } of open(state)) {
      const waits = part.status === 'queued' && !sounds.includes(`${playback.id} ${part.speaker}`);
      if (waits && lanes.includes(this.#laneOf(part.speaker) ?? '') && this.#rank(playback) < asked)
        this.#break('Q', `${alarm?.cause ?? category} is refused while something lower waits`);
    }
  }

  #stopMs(speaker: string): number {
    return this.#world.plan.speakers.find(({ id }) => id === speaker)?.stopMs ?? 300;
  }

  #mustEnd(isMeant: (playback: Playback) => boolean, withinMs?: number): void {
    for (const playback of this.#world.state.playbacks.values()) {
      if (!isMeant(playback)) continue;
      this.#over.add(playback.id);
      for (const [run, facts] of this.#runs)
        if (facts.playback === playback.id) this.#silentBy(run, withinMs ?? this.#stopMs(facts.speaker));
    }
  }

  #silentBy(run: number, withinMs: number): void {
    const facts = this.#runs.get(run);
    if (facts === undefined || this.#world.devices.active.get(run)?.startedAt === undefined) return;
    facts.deadline = Math.min(facts.deadline ?? Number.POSITIVE_INFINITY, this.#now + withinMs);
  }

  #sounds({ run }: Heard): void {
    const { key, playback } = this.#runs.get(run) ?? {};
    const row = this.#playback(playback ?? '');
    if (row === undefined) return;
    this.#count(row, this.#runs.get(run)?.speaker ?? '');
    if (key === undefined) return;
    this.#spells.begins(key, isLifeSafety(this.#rank(row)), this.#now, this.#world.plan.limits.restMs);
  }

  /** One that was cut begins anew once, or not at all; an alarm as long as it may wait. */
  #count(row: Playback, speaker: string): void {
    const key = `${row.id} ${speaker}`;
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    const most = row.category === 'announcement' || row.category === 'custom' ? 2 : 1;
    if (this.#rank(row) < 3 && times > most) this.#break('C', `${row.category} sounds ${times} times`);
  }

  #silent({ run }: Heard): void {
    const facts = this.#runs.get(run);
    this.#spells.ends(facts?.key ?? '', this.#now);
    if (facts?.deadline !== undefined && this.#now > facts.deadline) this.#break('5, 7', 'sounds on after its end');
  }

  #tell(playback: PlaybackShown, durable: boolean): void {
    const known = this.#told.get(playback.playback_id);
    // Without a disk and with another clock nobody can know what was told.
    const isKnown = known !== undefined && known.life >= (known.durable ? 0 : this.#bootLife);
    if (isKnown && playback.seq <= known.seq) this.#break('2', 'told with a number that was told before');
    const ends = new Map<string, string>();
    for (const { device_id, status, reason } of playback.devices) {
      const is = `${status} ${reason}`;
      const was = known?.ends.get(device_id);
      if (was !== undefined && was !== is) this.#break('2', `told ${was}, and then ${is}`);
      if (isEnd(status)) ends.set(device_id, is);
    }
    this.#told.set(playback.playback_id, { seq: playback.seq, ends, durable, life: this.#life });
  }

  /** On each step, of what a lane has taken up. */
  #checkRuns(): void {
    const { devices, state } = this.#world;
    const taken = new Set<number>();
    for (const { next, sound } of state.lanes.values()) for (const one of [next, sound]) if (one) taken.add(one.run);
    for (const [run, heard] of devices.active) {
      const facts = this.#runs.get(run);
      if (facts === undefined) continue;
      if (!taken.has(run)) this.#break('16', 'a run is left behind');
      if (heard.from !== undefined && facts.deadline !== undefined && this.#now > facts.deadline)
        this.#break('5, 7', 'sounds on after its end');
      if (this.#now > this.#worstEnd(heard, facts)) this.#break('3', 'a run has no end');
      if (heard.startedAt === undefined && state.closing === undefined) this.#checkReady(heard, facts);
    }
    for (const run of this.#runs.keys()) if (!devices.active.has(run) && !taken.has(run)) this.#runs.delete(run);
    for (const key of this.#spells.tooLong(this.#now, this.#world.plan.limits)) this.#break('S9', `${key} too long`);
  }

  /** When it is over at the latest: made ready, begun or played, and stopped. */
  #worstEnd({ lengthMs = 0, preparedAt, startedAt, from }: Heard, { chosenAt, startMs }: RunFacts): number {
    const stopMs = 1_000;
    if (from !== undefined) return from + lengthMs * 1.1 + 3_000 + stopMs;
    if (startedAt !== undefined) return startedAt + startMs + stopMs;
    return preparedAt === undefined ? chosenAt + 5_000 : Number.POSITIVE_INFINITY;
  }

  /** Whatever other speakers do, what is ready begins within 50 ms. */
  #checkReady({ preparedAt }: Heard, facts: RunFacts): void {
    const isFree = !this.#isTaken(facts.lane);
    const isWritten = this.#world.disk.written >= facts.write || this.#now - facts.chosenAt >= 500;
    if (preparedAt === undefined || !isFree || !isWritten) delete facts.readyAt;
    else facts.readyAt ??= this.#now;
    if (facts.readyAt !== undefined && this.#now - facts.readyAt > 50) this.#break('13', 'is ready and does not begin');
  }

  #checkBounds(): void {
    const { state, plan } = this.#world;
    if (state.playbacks === this.#bounded) return;
    this.#bounded = state.playbacks;
    const queues = new Map<string, number>();
    let count = 0;
    for (const { playback, part } of open(state)) {
      count += 1;
      const lane = this.#laneOf(part.speaker) ?? '';
      if (part.status === 'queued') queues.set(lane, (queues.get(lane) ?? 0) + 1);
      if (playback.joined.length > 64) this.#break('19', 'joined without end');
    }
    // One that was cut waits again, and the order to begin is given before it sounds; lanes may have become one.
    for (const [lane, queue] of queues) {
      const merged = plan.speakers.filter((one) => one.lane === lane).length;
      if (queue > (plan.limits.queue + 2) * merged && merged > 0) this.#break('19', 'a long queue');
    }
    if (state.playbacks.size > plan.limits.kept + count) this.#break('19', 'keeps too many');
    if (state.alarms.size > 64) this.#break('19', 'remembers too many alarms');
    const idle = [...state.timers.keys()].filter((id) => !id.startsWith('longest:'));
    if (count === 0 && (idle.length > 0 || state.lanes.size > 0)) this.#break('16', `left over: ${idle.join(' ')}`);
  }

  /** Now and then, and at the end: nothing hangs. */
  checkEnds(): void {
    if (!this.#world.isUp || this.#world.state.closing !== undefined) return;
    for (const { playback } of open(this.#world.state)) {
      const since = this.#now - (this.#askedAt.get(playback.id) ?? this.#now);
      // Prepared, written, together, begun, five times the longest message, stopped.
      const worstMs = 5_000 + 500 + 50 + 8_000 + 35_000 * 1.1 + 3_000 + 1_000;
      if (since > waitMs(playback) + worstMs) this.#break('3', `${playback.category} has no end`);
    }
  }

  died(): void {
    const { disk } = this.#world;
    for (const facts of this.#runs.values()) {
      const part = disk.rows.get(facts.playback)?.parts.find(({ speaker }) => speaker === facts.speaker);
      if (part?.begun === true) this.#sounded.add(`${facts.playback} ${facts.speaker}`);
    }
    for (const [id, told] of this.#told) if (!told.durable) this.#told.set(id, { ...told, ends: new Map() });
    this.#behind = disk.isBehind;
  }

  #behind = false;
  #life = 0;
  /** The first life of this boot. */
  #bootLife = 0;
  #bounded: World['state']['playbacks'] | undefined;

  came(rebooted: boolean): void {
    this.#life += 1;
    if (rebooted) this.#bootLife = this.#life;
    // Of what sounded without a disk nothing is known.
    for (const row of this.#world.disk.rows.values())
      for (const { speaker, cuts } of row.parts) {
        const key = `${row.id} ${speaker}`;
        if ((this.#times.get(key) ?? 0) > cuts) this.#times.set(key, cuts);
      }
    this.#spells.crash(rebooted || this.#behind);
    this.#runs.clear();
    const { rows } = this.#world.disk;
    this.#ended.clear();
    for (const row of rows.values())
      for (const { speaker, status, reason } of row.parts)
        if (isEnd(status)) this.#ended.set(`${row.id} ${speaker}`, `${status} ${reason}`);
    // What is not on disk never was.
    for (const id of [...this.#over])
      if (!rows.get(id)?.parts.every(({ status }) => isEnd(status))) this.#over.delete(id);
    if (rebooted) for (const id of this.#askedAt.keys()) this.#askedAt.set(id, this.#now);
  }

  #recovered(): void {
    for (const row of this.#world.disk.rows.values()) {
      for (const { speaker, begun, status } of row.parts) {
        if (isEnd(status) || (begun !== true && status !== 'playing')) continue;
        const now = this.#playback(row.id)?.parts.find((part) => part.speaker === speaker);
        if (now !== undefined && now.reason !== 'interrupted') this.#break('9', `${now.status} after a crash`);
      }
    }
    if ([...open(this.#world.state)].some(({ part }) => part.status === 'playing')) this.#break('9', 'plays already');
  }
}
