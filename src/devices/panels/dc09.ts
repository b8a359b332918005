import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import { duh, keysOf, parseFrame } from '#lib/dc09/index.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { hostAndPort } from '#lib/host.ts';
import type { Secret } from '#lib/secret.ts';
import { type RateLimit, rateLimit } from '#lib/token-bucket.ts';
import { sleep, unlessAborted } from '#lib/wait.ts';
import type { DeviceId, PartitionId, Signal, ZoneNumber } from '#site/model/index.ts';
import { Account, type FrameResult, frameRate } from './dc09-account.ts';
import { ReportMapping } from './dc09-mapping.ts';
import { type Dc09Options, dc09Profile } from './dc09-options.ts';
import { type Caller, type FrameAnswer, openSockets, type Sockets } from './dc09-sockets.ts';
import { forgetRemoved, type HeardMemory } from './heard.ts';
import { createHints, type HintDraft, type Hints, type PanelHint } from './hints.ts';
import { createMapping } from './mapping.ts';
import type { PanelOptions } from './options.ts';

export interface Receiver extends Part {
  /** The port it listens on; undefined while it does not. */
  readonly port: number | undefined;
  hints(): readonly PanelHint[];
}

export interface ReceiverOptions {
  readonly dc09: Dc09Options;
  /** The panels of the configuration whose profile is `dc09Profile`. */
  readonly panels: readonly ReceivedPanel[];
  /** Partitions of each zone, by the site's plan. */
  readonly partitionsOf: (zone: ZoneNumber) => readonly PartitionId[];
  /** False while siteward does not know the time. */
  readonly knowsTime: () => boolean;
  readonly timezone: () => string;
  /** Which openings were taken, over a restart. */
  readonly memory: HeardMemory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Takes signals in order; resolves when what they caused is durable. Only then is a frame acknowledged. */
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly idleMs?: number;
  readonly provenMs?: number;
}

export interface ReceivedPanel extends Omit<PanelOptions, 'code' | 'dc09'> {
  readonly dc09?: (Omit<NonNullable<PanelOptions['dc09']>, 'key'> & { readonly key?: Secret }) | undefined;
}

type Result = FrameResult | 'broken' | 'unknown_account' | 'overflow' | 'connections' | 'busy' | 'unproven';

const silenceCheckMs = 1000;
const ofPanels: ReadonlySet<Result> = new Set<Result>(['read', 'link_test', 'duplicate', 'time', 'unread', 'replayed']);

/** The receiver of panels that speak SIA DC-09 to siteward themselves. They only report: no command goes to them. */
export function createReceiver(options: ReceiverOptions): Receiver {
  return new ReceiverPart(options);
}

class ReceiverPart implements Receiver {
  readonly name = 'receiver';
  readonly #options: ReceiverOptions;
  readonly #accounts = new Map<string, { readonly id: DeviceId; readonly account: Account }>();
  readonly #metrics: ReturnType<typeof createMetrics>;
  readonly #abort = new AbortController();
  readonly #addresses: RateLimit;
  readonly #hints: Hints;
  #sockets: Sockets | undefined;
  #work: Promise<void> = Promise.resolve();
  #silence: NodeJS.Timeout | undefined;
  #reason = 'not started';

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#metrics = createMetrics(options.metrics);
    this.#hints = createHints(dc09Profile, options.clock);
    this.#addresses = rateLimit({ clock: options.clock, ...frameRate, cap: 1000 });
    for (const panel of options.panels) this.#add(panel);
  }

  get port(): number | undefined {
    return this.#sockets?.port;
  }

  #add({ dc09, ...panel }: ReceivedPanel): void {
    if (dc09 === undefined) return;
    const { key, ...settings } = dc09;
    const { partitionsOf, memory, clock, knowsTime, timezone, emit } = this.#options;
    const mapping = createMapping(panel, { zone: 'number', partition: 'number' });
    const account = new Account({
      panel: { ...settings, keys: key === undefined ? undefined : keysOf(key.reveal()) },
      mapping,
      reports: new ReportMapping({ mapping, partArming: settings.part_arming, partitionsOf }),
      ...{ memory, clock, knowsTime, timezone, emit },
      log: this.#options.log.child({ panel: panel.id }),
    });
    this.#accounts.set(accountName(settings.account), { id: panel.id, account });
  }

  async start(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#abort.signal]);
    let first: () => void = () => {};
    const tried = new Promise<void>((resolve) => {
      first = resolve;
    });
    for (const { account } of this.#accounts.values()) void account.recall();
    void forgetRemoved(this.#options.memory, this.#options.panels);
    this.#work = this.#listen(this.#abort.signal, first);
    this.#silence = setInterval(() => this.#checkSilence(), silenceCheckMs);
    this.#silence.unref();
    await unlessAborted(tried, stop).catch(() => {});
  }

  async stop(): Promise<void> {
    clearInterval(this.#silence);
    this.#abort.abort(new SitewardError('stopped', 'the receiver was stopped'));
    await this.#work;
    await Promise.all([...this.#accounts.values()].map(({ account }) => account.save()));
    this.#reason = 'stopped';
  }

  health(): Health {
    const up = [...this.#accounts.values()].filter(({ account }) => account.isUp === true).length;
    const facts = { panels: this.#accounts.size, calling: up, listening: this.#sockets !== undefined };
    if (this.#sockets === undefined)
      return { state: 'down', reason: `No panel can call: ${this.#reason}. Check dc09.listen.`, facts };
    return ok(facts);
  }

  hints(): readonly PanelHint[] {
    return [...this.#hints.list(), ...[...this.#accounts.values()].flatMap(({ account }) => account.hints())];
  }

  /** Keeps the sockets open until the end; an address that is taken, or not there yet, is tried again. */
  async #listen(signal: AbortSignal, tried: () => void): Promise<void> {
    const waits = backoff({ baseMs: 1000, capMs: 60_000 });
    const { dc09, log, idleMs, provenMs } = this.#options;
    const { host, port } = hostAndPort(dc09.listen);
    while (!signal.aborted) {
      try {
        this.#sockets = await openSockets({
          host,
          port,
          transports: dc09.transports,
          answer: (frame, from) => this.#answer(frame, from),
          isAllowed: (address) => this.#isAllowed(address),
          dropped: (why) => this.#dropped(why),
          connections: this.#metrics.connections,
          clock: this.#options.clock,
          idleMs,
          provenMs,
        });
        this.#metrics.listening.set(1);
        waits.reset();
        tried();
        await unlessAborted(this.#sockets.broken, signal);
      } catch (error) {
        const reason = describe(error);
        if (!signal.aborted && reason !== this.#reason) log.error({ reason }, 'panels cannot call');
        this.#reason = reason;
      }
      this.#metrics.listening.set(0);
      const open = this.#sockets;
      this.#sockets = undefined;
      await open?.close();
      tried();
      await sleep(waits.next(), signal).catch(() => {});
    }
  }

  /** Silence to what is broken, foreign or too much: a panel sends it again, and nobody else learns anything. */
  async #answer(text: string, caller: Caller): Promise<FrameAnswer | undefined> {
    const { address, transport } = caller;
    // Apart, since anybody can send datagrams in the name of a panel.
    if (!this.#addresses.take(`${transport} ${address}`)) return this.#count('', 'rate');
    const frame = parseFrame(text);
    if (typeof frame === 'string') return this.#count('', 'broken');
    const found = this.#accounts.get(accountName(frame.account ?? ''));
    if (found === undefined) {
      this.#count('', 'unknown_account');
      this.#hints.add({ ...unknownAccount, value: frame.account ?? '' });
      return { text: duh(frame), isPanel: false };
    }
    try {
      const { result, answer, isShown } = await unlessAborted(found.account.take(frame, caller), this.#abort.signal);
      if (isShown) this.#count(found.id, result);
      return answer === undefined ? undefined : { text: answer, isPanel: ofPanels.has(result) };
    } catch (error) {
      if (this.#abort.signal.aborted) return undefined;
      this.#options.log.error({ panel: found.id, reason: describe(error) }, 'a frame could not be handled');
      return this.#count(found.id, 'failed');
    }
  }

  #isAllowed(address: string): boolean {
    return this.#accounts.size === 0 || [...this.#accounts.values()].some(({ account }) => account.isAllowed(address));
  }

  #dropped(why: Result): void {
    this.#count('', why);
    if (why === 'address') this.#hints.add(foreignAddress);
  }

  #count(panel: string, result: Result): undefined {
    this.#metrics.frames.inc({ panel, result });
  }

  #checkSilence(): void {
    for (const { account } of this.#accounts.values()) account.checkSilence();
  }
}

const foreignAddress: HintDraft = {
  kind: 'dropped',
  about: 'address',
  text: 'A call came from an address that is in the from of no panel.',
};

const unknownAccount: HintDraft = {
  kind: 'unknown_key',
  about: 'account',
  text: 'A panel calls with an account that is not configured. Correct it there, or under dc09.account of the panel.',
};

/** Accounts are hexadecimal, and some panels write them in small letters. */
const accountName = (account: string): string => account.toUpperCase();

function createMetrics(metrics: Registry) {
  const registers = [metrics];
  return {
    frames: new Counter({
      name: 'siteward_dc09_frames_total',
      help: 'SIA DC-09 frames by what became of them',
      labelNames: ['panel', 'result'] as const,
      registers,
    }),
    connections: new Gauge({
      name: 'siteward_dc09_connections',
      help: 'TCP connections of panels that call by SIA DC-09',
      registers,
    }),
    listening: new Gauge({
      name: 'siteward_dc09_listening',
      help: '1 while panels can call by SIA DC-09',
      registers,
    }),
  };
}
