import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { describe, isCode } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import {
  accountIn,
  ack,
  type Content,
  clockBounds,
  decrypt,
  duh,
  type Frame,
  isTimely,
  nak,
  parseContent,
  parseReports,
  type Report,
} from '#lib/dc09/index.ts';
import { localIso } from '#lib/local-iso.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import type { Signal } from '#site/model/index.ts';
import type { Mapped, ReportMapping } from './dc09-mapping.ts';
import { Openings, type OpeningsMemory } from './dc09-openings.ts';
import { addressFilter, type Dc09PanelOptions } from './dc09-options.ts';
import { type FrameName, Repeats } from './dc09-repeats.ts';
import { Heard, heardKey } from './heard.ts';
import { createHints, hourlyGate, type PanelHint } from './hints.ts';
import type { Mapping } from './mapping.ts';

/** What became of a frame. Answered: `read`, `link_test`, `duplicate` ACK, `time` NAK, `key` and `unread` DUH, `replayed` NAK. */
export type FrameResult =
  | 'read'
  | 'link_test'
  | 'duplicate'
  | 'time'
  | 'key'
  | 'unread'
  | 'replayed'
  | 'address'
  | 'rate'
  | 'failed';

export interface Answer {
  readonly result: FrameResult;
  /** Absent: silence. */
  readonly answer?: string;
  /** False: it may stand in no count (safety 4). */
  readonly isShown: boolean;
}

export interface AccountOptions {
  readonly panel: Omit<Dc09PanelOptions, 'key'> & { readonly keys: readonly Buffer[] | undefined };
  readonly mapping: Mapping;
  readonly reports: ReportMapping;
  readonly memory: OpeningsMemory;
  readonly clock: Clock;
  /** False while siteward does not know the time: no panel is told to take ours then. */
  readonly knowsTime: () => boolean;
  readonly timezone: () => string;
  readonly log: Logger;
  /** Resolves when what the signals caused is on disk. */
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
}

/** Less is how long sending takes; more, or a time to come, is a clock that was set meanwhile. */
const ageBounds = { leastMs: 5000, mostMs: 7 * 86_400_000 } as const;

/** A panel that empties its memory sends a frame with each answer; more than this is none. */
export const frameRate = { burst: 200, perSecond: 20 } as const;

/** Frames that are remembered within the window of the clock. */
const cipherCap = 256;
/** So often a frame is refused before it is acknowledged without an effect. */
const refusals = 2;
/** So often an opening gets no answer because nobody can judge it; a damaged `bulk.db` may take long to be read back, and alarms wait behind. */
const patience = 3;
/** Panels try again within seconds or minutes (milliseconds). */
const anewMs = 3_600_000;

interface Opened {
  readonly content: Content;
  readonly key?: Buffer;
}

/** How often a frame came, and when last. */
interface Tries {
  readonly times: number;
  readonly mono: number;
}

/** One panel that calls: reads its frames, keeps what they say, and supervises that it goes on calling. */
export class Account {
  readonly #options: AccountOptions;
  /** Whether the panel may call from there. */
  readonly isAllowed: (address: string) => boolean;
  readonly #repeats = new Repeats();
  readonly #openings: Openings | undefined;
  /** Frames with a key that were taken, and what was refused of them how often; by what was encrypted. */
  readonly #ciphers = new BoundedMap<string, true>(cipherCap);
  readonly #refused = new BoundedMap<string, Tries>(cipherCap);
  /** How often an opening came that nobody could judge, whatever time it carried. */
  readonly #unjudged = new BoundedMap<string, Tries>(cipherCap);
  readonly #hints;
  readonly #gate;
  readonly #rate;
  #up: boolean | undefined;
  readonly #heard: Heard;
  #offMs: number | undefined;

  constructor(options: AccountOptions) {
    this.#options = options;
    this.isAllowed = addressFilter(options.panel.from);
    const { account, keys } = options.panel;
    this.#openings = keys === undefined ? undefined : new Openings(options.memory, account.toUpperCase(), keys);
    this.#hints = createHints(options.mapping.panel.id, options.clock);
    this.#gate = hourlyGate(options.clock);
    this.#rate = rateLimit({ clock: options.clock, ...frameRate, cap: 2 });
    const { memory, clock, knowsTime } = options;
    const key = heardKey(options.mapping.panel.id);
    this.#heard = new Heard({ key, limitMs: options.panel.supervised, memory, clock, knowsTime });
    this.#heard.listening(true);
  }

  /** Begins with what an earlier run has kept. */
  recall(): Promise<void> {
    return this.#heard.recall();
  }

  /** Keeps for the next run what it should know. */
  save(): Promise<void> {
    return this.#heard.save();
  }

  /** Undefined while nothing was heard of it. */
  get isUp(): boolean | undefined {
    return this.#up;
  }

  hints(): readonly PanelHint[] {
    return this.#hints.list();
  }

  /** What to answer; resolves when what the frame caused is on disk. */
  async take(frame: Frame, { address, transport }: { address: string; transport: string }): Promise<Answer> {
    if (!this.isAllowed(address)) return this.#not('address', 'a frame came from an address that is not in from');
    const opened = this.#open(frame);
    if (opened === undefined) return this.#not('key', keyTexts[frame.isEncrypted ? 'wrong' : 'clear'], duh(frame));
    // Apart: what a datagram forges or plays again keeps nothing from a connection.
    if (!this.#rate.take(transport)) return { result: 'rate', isShown: true };
    const { content, key } = opened;
    const { clock } = this.#options;
    if (!this.#isTimely(content)) return this.#not('time', timeText, nak(clock.wall()));
    const isOwn = key === undefined || isOf(frame, content);
    const all = frame.id === 'NULL' ? [] : known.has(frame.id) ? parseReports(frame.id, content.data) : undefined;
    if (all === undefined) return this.#not('unread', 'a frame could not be read', duh(frame));
    // An alarm always passes: some panels write the account of the partition there.
    const reports = isOwn ? all : all.filter((report) => this.#isAlarm(report));
    if (!isOwn && reports.length === 0) return this.#not('unread', accountText, duh(frame));

    // A link test says nothing of the arming, and may pass an opening that waits for its answer.
    if (isOwn && reports.length > 0 && content.at !== undefined) this.#openings?.heard(content.at);

    const answer = ack(frame, key === undefined ? undefined : { key, wallMs: clock.wall() });
    if (reports.length === 0) {
      const kept = await this.#keep([]);
      return kept ? { result: 'link_test', answer, isShown: true } : failed(true);
    }
    const name = nameOf(frame, content);
    const again = this.#repeats.known(name, clock.monotonic());
    const report = again?.report ?? this.#repeats.reportOf(name, clock.wall());
    const mapped = this.#options.reports.read(reports, {
      frame: report,
      ageMs: this.#ageMs(content),
      sentAt: content.at,
    });
    const { isShown } = mapped;
    if (again !== undefined && (await again.kept)) {
      await this.#heardAgain(again.isDue ? mapped.signals.filter(isKnownAgain).map(reminding) : []);
      return { result: 'duplicate', answer, isShown };
    }
    const cipher = key === undefined ? undefined : digestOf(frame.rest);
    if (cipher !== undefined && this.#ciphers.has(cipher)) return this.#replayed(mapped, cipher, answer);
    if (content.at === undefined || this.#openings === undefined || !mapped.signals.some(isOpening)) {
      const done = await this.#act(mapped, name, report, answer);
      if (cipher !== undefined && done.result === 'read') this.#ciphers.set(cipher, true);
      return done;
    }

    const opening = { at: content.at, seq: frame.seq, cipher: frame.rest };
    const verdict = await this.#judge(this.#openings, opening);
    if (verdict === undefined) {
      const times = this.#times(this.#unjudged, name.base);
      return times > patience ? this.#replayed(mapped, name.base, answer) : failed(isShown);
    }
    if (verdict === 'known') return { result: 'duplicate', answer, isShown };
    if (verdict === 'old') return this.#replayed(mapped, digestOf(frame.rest), answer);
    const done = await this.#act(mapped, name, report, answer);
    if (done.result === 'read') await this.#openings.taken(opening);
    return done;
  }

  /**
   * A frame of which nobody knows whether its panel has sent it. Whatever it says of an alarm passes; the rest changes nothing: an opening, a
   * closing or a restore that is played again would tell what is no more. A panel takes the time and sends it anew, or at last gets an
   * answer, since its alarms wait behind.
   */
  async #replayed(mapped: Mapped, cipher: string, answer: string): Promise<Answer> {
    const rest = mapped.signals.filter((signal) => signal.kind === 'alarm' || (signal.kind === 'zone' && signal.alarm));
    if (rest.length > 0 && !(await this.#keep(rest))) return failed(mapped.isShown);
    const times = this.#times(this.#refused, cipher);
    const told = times > refusals ? answer : nak(this.#options.clock.wall());
    return mapped.isShown
      ? this.#not('replayed', replayText, told)
      : { result: 'replayed', answer: told, isShown: false };
  }

  /** How often it came, with this one. After a pause it is another opening: some panels write every day the same. */
  #times(tries: BoundedMap<string, Tries>, name: string): number {
    const mono = this.#options.clock.monotonic();
    const last = tries.get(name);
    const times = last === undefined || mono - last.mono > anewMs ? 1 : last.times + 1;
    tries.set(name, { times, mono });
    return times;
  }

  async #act(mapped: Mapped, name: FrameName, report: string, answer: string): Promise<Answer> {
    const { isShown } = mapped;
    for (const hint of mapped.hints) this.#hints.add(hint);
    const kept = this.#keep(mapped.signals);
    this.#repeats.add(name, report, this.#options.clock.monotonic(), kept);
    if (!(await kept)) {
      this.#repeats.forget(name);
      return failed(isShown);
    }
    mapped.kept();
    return { result: 'read', answer, isShown };
  }

  #isAlarm(report: Report): boolean {
    return this.#options.reports.read([report], { frame: '' }).signals.some(isAlarm);
  }

  /** Undefined while nobody knows: the panel sends it again. */
  async #judge(openings: Openings, opening: { at: number; seq: string; cipher: string }) {
    const { panel, knowsTime, log } = this.#options;
    const isJudged = panel.clock !== 'ignored' && knowsTime();
    const mostAt = isJudged ? this.#panelWall() + clockBounds.beforeMs : Number.POSITIVE_INFINITY;
    try {
      return await openings.judge(opening, mostAt);
    } catch (error) {
      if (this.#gate.pass('memory'))
        log.warn({ reason: describe(error) }, 'an opening was not taken: no memory of earlier ones');
      return undefined;
    }
  }

  /** Call now and then: tells when nothing usable has come for longer than it may. */
  checkSilence(): void {
    const { supervised } = this.#options.panel;
    if (!this.#heard.isLost() || this.#up === false) return;
    const off = this.#offMs === undefined ? '' : `; its clock is ${Math.round(this.#offMs / 1000)} s off`;
    const reason = `nothing usable was heard for ${Math.round(supervised / 1000)} s${off}`;
    this.#up = false;
    this.#options.log.warn({ reason }, 'the panel does not call any more');
    void this.#emit([{ kind: 'link', source: this.#options.mapping.panel, layer: 'device', up: false, reason }]);
  }

  /** A panel with a key speaks only in it: what comes in clear may come from anybody. */
  #open(frame: Frame): Opened | undefined {
    const { keys } = this.#options.panel;
    if (!frame.isEncrypted || keys === undefined) {
      const content = frame.isEncrypted || keys !== undefined ? undefined : parseContent(frame.rest);
      return content === undefined ? undefined : { content };
    }
    for (const key of keys) {
      const text = decrypt(frame.rest, key);
      const content = text === undefined ? undefined : parseContent(text);
      // The time is what shows that the key was right, and that nobody plays an old frame again.
      if (content?.at !== undefined) return { content, key };
    }
    return undefined;
  }

  #isTimely({ at }: Content): boolean {
    const { panel, knowsTime } = this.#options;
    if (at === undefined || panel.clock === 'ignored' || !knowsTime()) return true;
    const ours = this.#panelWall();
    const isGood = isTimely(at, ours);
    this.#offMs = isGood ? undefined : at - ours;
    return isGood;
  }

  /** The time a panel should write now. */
  #panelWall(): number {
    const { clock, panel, timezone } = this.#options;
    const wall = clock.wall();
    return panel.clock === 'local' ? Date.parse(`${localIso(wall, timezone()).slice(0, 19)}Z`) : wall;
  }

  /**
   * How long ago it happened, where the panel says so: a report out of its memory. Both moments are of its own clock, so that
   * it matters little how that stands.
   */
  #ageMs({ at, occurred }: Content): number | undefined {
    const { panel, knowsTime } = this.#options;
    const sent = at ?? (panel.clock === 'ignored' || !knowsTime() ? undefined : this.#panelWall());
    if (sent === undefined || occurred === undefined) return undefined;
    const ageMs = sent - occurred;
    return ageMs >= ageBounds.leastMs && ageMs <= ageBounds.mostMs ? ageMs : undefined;
  }

  /** A panel that repeats a frame is there, unless anybody may have kept the frame for as long as they like. */
  async #heardAgain(reminded: readonly Signal[]): Promise<void> {
    const { keys, clock } = this.#options.panel;
    if (keys === undefined || clock !== 'ignored') await this.#keep(reminded);
  }

  /** True when the signals, and that the panel is there, are on disk. */
  async #keep(signals: readonly Signal[]): Promise<boolean> {
    const isBack = this.#up !== true;
    this.#heard.heard();
    this.#up = true;
    const source = this.#options.mapping.panel;
    const back: readonly Signal[] = isBack ? [{ kind: 'link', source, layer: 'device', up: true }] : [];
    const kept = await this.#emit([...back, ...signals]);
    if (!kept && isBack) this.#up = undefined;
    return kept;
  }

  async #emit(signals: readonly Signal[]): Promise<boolean> {
    if (signals.length === 0) return true;
    try {
      await this.#options.emit(signals);
      return true;
    } catch (error) {
      // At the end of the daemon that is as it should be: without an answer, the panel sends it again.
      if (!isCode(error, 'stopped'))
        this.#options.log.error({ reason: describe(error) }, 'panel signals were not kept');
      return false;
    }
  }

  #not(result: FrameResult, text: string, answer?: string): Answer {
    this.#hints.add({ kind: 'dropped', about: result, text: `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.` });
    if (this.#gate.pass(result)) this.#options.log.warn({ result }, text);
    return { result, ...(answer === undefined ? {} : { answer }), isShown: true };
  }
}

const known: ReadonlySet<string> = new Set(['SIA-DCS', 'ADM-CID']);
const failed = (isShown: boolean): Answer => ({ result: 'failed', isShown });

/** What is in the cipher cannot be changed, what stands before it can: a frame of one panel is no other's. In clear it shows nothing. */
function isOf({ account = '' }: Frame, { data }: Content): boolean {
  const inside = accountIn(data);
  const plain = (text: string) => text.toUpperCase().replace(/^0+/, '');
  return inside === undefined || plain(inside) === plain(account);
}

function nameOf({ account, seq, id }: Frame, { data, at }: Content): FrameName {
  return { base: createHash('sha256').update(`${account}|${seq}|${id}|${data}`).digest('base64url'), seq, at };
}

/** What the site knows to be the same report again, so that it changes nothing but for how long that is known. */
const isKnownAgain = (signal: Signal): boolean =>
  signal.kind === 'zone' ? signal.alarm === true || signal.tamper === true : signal.kind !== 'trouble';

/** Nothing is opened or closed by a frame that was taken before. */
const reminding = (signal: Signal): Signal => (signal.kind === 'partition' ? { ...signal, reminder: true } : signal);

const isAlarm = (signal: Signal): boolean =>
  signal.kind === 'alarm' ||
  (signal.kind === 'zone' && signal.alarm === true) ||
  (signal.kind === 'partition' && signal.state === 'triggered');

const isOpening = (signal: Signal): boolean => signal.kind === 'partition' && signal.state === 'disarmed';

const digestOf = (cipher: string): string => createHash('sha256').update(cipher.toUpperCase()).digest('base64url');

const accountText = 'a frame names one account before its content and another one within';
const replayText =
  'a frame changed nothing and the panel was told the time: it is not newer than what was heard before, so that somebody may have played it again';
const keyTexts = {
  wrong: 'a frame could not be opened: the key of the panel and that of the configuration differ, or one is missing',
  clear: 'a frame in clear was refused or could not be read: where a key is given, the panel must encrypt',
} as const;
const timeText =
  'the time of a frame is too far from ours: the panel was told the time; if it stays so, see clock: in its configuration';
