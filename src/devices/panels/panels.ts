import type { IClientPublishOptions, IPublishPacket, MqttClient } from 'mqtt';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { describe, isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { type Connect, ownClientId, subscribe } from '#lib/mqtt.ts';
import type { Secret } from '#lib/secret.ts';
import { never, withDeadline } from '#lib/wait.ts';
import type { DeviceId, PanelCommand, PartitionId, Signal } from '#site/model/index.ts';
import { AnswerLine } from './answer-line.ts';
import { answers } from './answers.ts';
import { codeUse } from './commands.ts';
import type { Verdict } from './guard.ts';
import { forgetRemoved, type HeardMemory } from './heard.ts';
import type { PanelHint } from './hints.ts';
import { keepLine } from './line.ts';
import { buildPanels } from './load.ts';
import { createMetrics } from './metrics.ts';
import type { PanelOptions } from './options.ts';
import type { RawWatch } from './raw-watch.ts';
import type { Message } from './reading.ts';
import { Runner } from './runner.ts';
import type { KnownPartition } from './start-memory.ts';
import { narrowest } from './topics.ts';

export interface Panels extends Part {
  /**
   * Sends one command at once or refuses it with a `refusal` signal; never keeps it for later. That the panel did it
   * shows in its state.
   */
  send(command: PanelCommand): void;
  /** What a technician should look at, for `siteward status`. */
  hints(): readonly PanelHint[];
}

export interface PanelsOptions {
  readonly panels: readonly PanelOptions[];
  /** Directories with profiles, `<id>.json`; the first that has one wins. */
  readonly profiles: readonly string[];
  readonly connect: Connect;
  readonly siteSlug: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /**
   * Takes signals in order; resolves when what they caused is durable. Only then is the message acknowledged. A
   * rejection makes the broker deliver it again.
   */
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  /** A moment at which an earlier run still heard the panels, wall clock milliseconds. */
  readonly heardUntil?: number;
  /** What the site knows of the partitions its panels own, at the start. */
  readonly known?: ReadonlyMap<PartitionId, KnownPartition>;
  /** How long panels are silent, over a restart. */
  readonly memory?: HeardMemory;
  /** False while siteward does not know the time. */
  readonly knowsTime?: () => boolean;
  /** How long the site waits for a panel to confirm a command, milliseconds. */
  readonly confirmMs?: number;
  /** siteward's own code at a panel, for bridges that want it in the command. */
  readonly code?: (panel: DeviceId) => Secret | undefined;
  readonly raw?: Pick<RawWatch, 'heard'>;
}

interface Way {
  readonly runner: Runner;
  /** The bridge's words for the partition and for the zone. */
  readonly key: string;
  readonly zone?: string;
  readonly client: MqttClient;
}

/** More of what is wrong with a profile is in the log (characters). */
const reasonLength = 200;
const stopDeadlineMs = 2000;
const silenceCheckMs = 1000;
/** A command that has not reached its bridge by then has missed it (seconds). */
const commandLifeS = 5;
/** A broker that has not answered by then gets no command (milliseconds). */
const answerMs = 2000;

/**
 * The alarm panels of this bridge over one broker. One client with a persistent session listens, one with a clean
 * session sends commands, so that a door that opened during a restart is not lost and a command never waits in a queue.
 */
export function createPanels(options: PanelsOptions): Panels {
  return new PanelPart(options);
}

class PanelPart implements Panels {
  readonly name = 'panels';
  readonly #options: PanelsOptions;
  readonly #runners: readonly Runner[];
  readonly #problems: ReadonlyMap<string, SitewardError>;
  readonly #metrics: ReturnType<typeof createMetrics>;
  readonly #abort = new AbortController();
  readonly #answers: AnswerLine;
  #lines: Promise<unknown> = Promise.resolve();
  #silence: NodeJS.Timeout | undefined;
  #commands: MqttClient | undefined;
  #asked: Promise<boolean> | undefined;
  #listening = false;
  /** Until when the panels were heard the last time, wall clock milliseconds. */
  #heardUntil: number | undefined;
  #reason = 'not started';

  constructor(options: PanelsOptions) {
    const { built, problems } = buildPanels(options.panels, options.profiles);
    this.#options = options;
    this.#runners = built.map((panel) => new Runner(panel, options));
    this.#problems = problems;
    this.#metrics = createMetrics(options.metrics);
    this.#heardUntil = options.heardUntil;
    const emit = (signals: readonly Signal[]) => void this.#emit(signals)?.catch(() => {});
    this.#answers = new AnswerLine({ runners: this.#runners, emit, log: options.log });
  }

  async start(signal: AbortSignal): Promise<void> {
    for (const [panel, error] of this.#problems) {
      this.#options.log.error({ panel, reason: error.message, ...error.facts }, 'this panel is not read');
    }
    this.#emit(this.#notRead())?.catch(() => {});
    if (this.#runners.length === 0) return;
    const stop = AbortSignal.any([signal, this.#abort.signal]);
    const { connect, clock, siteSlug } = this.#options;
    for (const runner of this.#runners) void runner.recall();
    void forgetRemoved(this.#options.memory, this.#options.panels);
    this.#lines = Promise.all([
      keepLine(
        {
          connect,
          clock,
          clientId: ownClientId(connect, `siteward-${siteSlug}-panels`),
          clean: false,
          up: (client) => this.#listen(client),
          down: (reason) => this.#lost(reason),
          message: (packet, waited) => this.#message(packet, waited),
        },
        stop,
      ),
      keepLine(
        {
          connect,
          clock,
          clientId: ownClientId(connect, `siteward-${siteSlug}-cmd`),
          clean: true,
          up: async (client) => {
            this.#commands = client;
          },
          down: () => {
            this.#commands = undefined;
          },
          message: (packet, waited) => void this.#answers.message(packet, messageOf(packet), waited),
        },
        stop,
      ),
    ]);
    this.#silence = setInterval(() => this.#checkSilence(), silenceCheckMs);
    this.#silence.unref();
  }

  /** A panel that cannot be read is a panel that cannot be reached: the station must know that its alarms are lost. */
  #notRead(): readonly Signal[] {
    return [...this.#problems].map(([id, { message }]) => ({
      kind: 'link',
      source: { kind: 'panel', id },
      layer: 'bridge',
      up: false,
      reason: `it is not read: ${message.slice(0, reasonLength)}`,
    }));
  }

  async stop(): Promise<void> {
    clearInterval(this.#silence);
    this.#abort.abort(new SitewardError('stopped', 'the panels were stopped'));
    this.#answers.close();
    const saved = () => Promise.all([this.#lines, ...this.#runners.map((runner) => runner.save())]);
    await withDeadline(stopDeadlineMs, never(), saved).catch((error: unknown) => {
      if (!isCode(error, 'deadline')) throw error;
    });
    this.#commands = undefined;
    this.#listening = false;
    this.#reason = 'stopped';
  }

  health(): Health {
    const facts = { panels: this.#runners.length, broken: this.#problems.size, connected: this.#listening };
    const [broken] = this.#problems.values();
    if (this.#runners.length > 0 && !this.#listening) {
      return { state: 'down', reason: `No panel can be heard: ${this.#reason}. Check the broker.`, facts };
    }
    if (broken !== undefined) return { state: 'degraded', reason: broken.message, facts };
    return ok(facts);
  }

  hints(): readonly PanelHint[] {
    const broken = [...this.#problems].map(([panel, error]) => ({
      panel,
      kind: 'not_running' as const,
      about: panel,
      text: error.message,
      values: [],
      count: 1,
      lastAt: this.#options.clock.wall(),
    }));
    const codeless = this.#runners
      .filter(
        ({ built }) => codeUse(built.compiled) === 'needed' && this.#options.code?.(built.options.id) === undefined,
      )
      .map(({ built }) => ({
        panel: built.options.id,
        kind: 'no_code' as const,
        about: 'code',
        text: 'This panel wants a code in commands. Give siteward one of its own under code, or its commands are refused.',
        values: [],
        count: 0,
        lastAt: 0,
      }));
    return [...broken, ...codeless, ...this.#runners.flatMap((runner) => runner.hints())];
  }

  send(command: PanelCommand): void {
    const way = this.#wayTo(command);
    if ('is' in way) {
      this.#tell(command, way);
      return;
    }
    void this.#isAnswered(way.client).then((is) => {
      if (this.#abort.signal.aborted) return;
      this.#tell(command, is ? this.#leave(command, way) : refused('the broker does not answer'));
    });
  }

  #tell(command: PanelCommand, verdict: Verdict): void {
    this.#metrics.commands.inc({ panel: command.panel, result: verdict.is });
    const { panel, partition, zone, action, commandId } = command;
    const facts = { panel, partition, zone, action, commandId };
    const about = zone === undefined ? {} : { zone };
    const source = { kind: 'panel', id: panel } as const;
    if (verdict.is === 'refused') {
      this.#options.log.warn({ ...facts, reason: verdict.why }, 'panel command refused');
      this.#emit([{ kind: 'refusal', source, partition, ...about, reason: verdict.reason }])?.catch(() => {});
      return;
    }
    this.#options.log.info({ ...facts, result: verdict.is }, 'panel command');
    // What the panel shows already is told once more, so that the command finds its answer.
    if (verdict.is === 'there') {
      this.#emit([{ kind: 'partition', source, partition, state: verdict.state, replay: true }])?.catch(() => {});
    }
  }

  /** How the command would reach its panel, or why it may not leave. */
  #wayTo(command: PanelCommand): Way | Verdict {
    const runner = this.#runners.find(({ built }) => built.options.id === command.panel);
    const key = runner?.built.mapping.keys.get(command.partition);
    const zone = command.zone === undefined ? undefined : runner?.built.mapping.zoneKeys.get(command.zone);
    if (runner === undefined) return { is: 'refused', reason: 'no_command', why: 'no panel of this id takes commands' };
    if (key === undefined) return refused('the panel does not have this partition');
    if (command.zone !== undefined && zone === undefined) return refused('the panel does not have this zone');
    const client = this.#commands;
    if (client?.connected !== true) return refused('the broker is not connected');
    // A bridge that comes back later must not find an old command waiting for it.
    if (runner.bridge === false || runner.device === false) return refused('the panel cannot be reached');
    if (!runner.built.compiled.out.has(command.action)) {
      return { is: 'refused', reason: 'no_command', why: `its profile has no command ${command.action}` };
    }
    return { runner, key, client, ...(zone !== undefined && { zone }) };
  }

  /** Sends the command if it may leave; what became of it. */
  #leave(command: PanelCommand, { runner, key, zone, client }: Way): Verdict {
    try {
      const { action } = command;
      const about = { action, partition: key, code: this.#options.code?.(command.panel) };
      const { topic, payload } = runner.render(zone === undefined ? about : { ...about, zone });
      const verdict = runner.ask(key, action);
      if (verdict.is !== 'sent') return verdict;
      if (action === 'disarm') this.#answers.expect(client, runner, key);
      client.publish(topic, payload, this.#passing(), (error) => {
        const { panel, commandId } = command;
        if (error) this.#options.log.warn({ panel, commandId, reason: error.message }, 'panel command may be lost');
      });
      return verdict;
    } catch (error) {
      return refused(describe(error));
    }
  }

  /** One question at a time: whoever asks meanwhile gets its answer. */
  #isAnswered(client: MqttClient): Promise<boolean> {
    this.#asked ??= answers(client, answerMs).finally(() => {
      this.#asked = undefined;
    });
    return this.#asked.then((is) => is && this.#commands === client && client.connected);
  }

  /**
   * A bridge with a persistent session that is away for a moment must not find the command later, when siteward has long
   * said that nobody confirmed it: brokers keep nothing of QoS 0, and where one is told to, MQTT 5 gives it an end.
   */
  #passing(): IClientPublishOptions {
    if (this.#options.connect.protocolVersion !== 5) return { qos: 0, retain: false };
    return { qos: 0, retain: false, properties: { messageExpiryInterval: commandLifeS } };
  }

  async #listen(client: MqttClient): Promise<void> {
    const filters = narrowest(
      this.#runners.flatMap((runner) => runner.built.compiled.rules.map((rule) => rule.template)),
    );
    await subscribe(client, filters);
    this.#listening = true;
    this.#metrics.connected.set(1);
    this.#options.log.info({ filters }, 'listening to the panels');
    // Bridges that never tell about themselves count as up while the broker is there.
    for (const runner of this.#runners) runner.brokerFound();
    const mute = this.#runners.filter((runner) => !runner.tells('bridge'));
    this.#emit(mute.flatMap((runner) => runner.link('bridge', true) ?? []))?.catch(() => {});
  }

  #lost(reason: string): void {
    if (this.#listening) this.#heardUntil = this.#options.clock.wall();
    this.#listening = false;
    this.#metrics.connected.set(0);
    if (this.#reason !== reason) this.#options.log.warn({ reason }, 'the panels cannot be heard');
    this.#reason = reason;
    const why = `no connection to the broker: ${reason}`;
    this.#emit(this.#runners.flatMap((runner) => runner.brokerLost(why) ?? []))?.catch(() => {});
  }

  #checkSilence(): void {
    if (!this.#listening) return;
    this.#emit(this.#runners.flatMap((runner) => [...runner.due(), ...runner.checkSilence()]))?.catch(() => {});
  }

  #message(packet: IPublishPacket, waited: boolean): Promise<void> | undefined {
    const message = messageOf(packet);
    for (const runner of this.#runners) {
      const taken = this.#take(runner, message, waited);
      if (taken === undefined) continue;
      if (taken.isShown) this.#metrics.messages.inc({ panel: runner.built.options.id, result: taken.result });
      return this.#emit(waited ? taken.signals.map((one) => hasWaited(one, this.#heardUntil)) : taken.signals);
    }
    this.#metrics.messages.inc({ panel: '', result: 'unmatched' });
    return undefined;
  }

  /** A message that breaks the reading is dropped and acknowledged: delivered again it would only break it again. */
  #take(runner: Runner, message: Message, waited: boolean): ReturnType<Runner['take']> {
    try {
      return runner.take(message, waited);
    } catch (error) {
      this.#options.log.error(
        { panel: runner.built.options.id, reason: describe(error) },
        'panel message not readable',
      );
      return { signals: [], result: 'dropped', isShown: true };
    }
  }

  /** Rejections are logged here, once; the caller decides what follows from them. */
  #emit(signals: readonly Signal[]): Promise<void> | undefined {
    if (signals.length === 0) return undefined;
    const done = this.#options.emit(signals);
    done.catch((error: unknown) => {
      // At the end of the daemon that is as it should be: unacknowledged, the messages come again at the next start.
      if (!isCode(error, 'stopped'))
        this.#options.log.error({ reason: describe(error) }, 'panel signals were not kept');
    });
    return done;
  }
}

const messageOf = ({ topic, payload, retain }: IPublishPacket): Message => ({
  topic,
  payload: typeof payload === 'string' ? Buffer.from(payload) : payload,
  retain: retain === true,
});

/** What is told now may have happened at any time since the panels were heard last. A retained message has no time at all. */
function hasWaited(signal: Signal, since: number | undefined): Signal {
  const { kind } = signal;
  if (kind !== 'zone' && kind !== 'partition' && kind !== 'trouble' && kind !== 'alarm') return signal;
  return signal.replay === true ? signal : { ...signal, waited: since === undefined ? {} : { since } };
}

const refused = (why: string): Verdict => ({ is: 'refused', reason: 'other', why });
