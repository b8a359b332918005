import type { IPublishPacket } from 'mqtt';
import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import { describe } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { Part } from '#lib/health.ts';
import { type Connect, ownClientId } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import {
  type Changes,
  isPending,
  type PlaybackShown,
  type SiteEvent,
  type SiteView,
  unknownClient,
  type VerificationDocument,
} from '#site/model/index.ts';
import { createAudioFeed } from './audio-feed.ts';
import { auditEveryMs, createAuditFeed } from './audit-feed.ts';
import { createCommands } from './commands.ts';
import { createConnection, type LiveSession } from './connection.ts';
import { createHomeAssistant, type HaOptions } from './home-assistant.ts';
import type { HaMemory } from './home-assistant-memory.ts';
import { createImageFeed } from './image-feed.ts';
import { createIntake } from './intake.ts';
import { createLeftovers } from './leftovers.ts';
import { asksHelp } from './panics.ts';
import type { CommandMessage, CommandSender } from './parse.ts';
import { createPublisher, type Message } from './publisher.ts';
import type { PanelRaw } from './schemas.ts';
import { isSilent } from './silent.ts';
import type { SitePort } from './site-port.ts';
import { type Facts, hasSpeakers, limits } from './state.ts';
import { createStateFeed } from './state-feed.ts';
import { isForSite, isVerb, rootOf } from './table.ts';

export interface LanMqttOptions {
  readonly connect: Connect;
  /** From `site.external_id`: `[a-z0-9-]{1,32}`. */
  readonly slug: string;
  readonly site: SitePort;
  readonly version: string;
  /** The broker can be reached, or not any more; told once per change. */
  readonly onLink?: (up: boolean, reason?: string) => void;
  /** When the broker's certificate ends; told with each connection and every six hours. */
  readonly onCertificate?: (endsAt: number | undefined) => void;
  /** A UUID that changes with each start of the machine. */
  readonly bootId: string;
  /** Who published a command; only the embedded broker can tell. */
  readonly senderOf?: (topic: string, payload: Uint8Array) => CommandSender | undefined;
  readonly homeAssistant?: HaOptions | undefined;
  /** The last picture of each camera stays at the broker. */
  readonly retainImages?: boolean;
  /** What this room remembers over a restart. */
  readonly memory?: HaMemory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** The site on the LAN's MQTT broker. None of its methods throws or waits. */
export interface LanMqtt extends Part {
  publishState(view: SiteView, changes: Changes): void;
  /** Once per event and only while connected; silent hold-up and duress never appear (safety 4). */
  publishEvent(event: SiteEvent): void;
  setCloudLink(up: boolean): void;
  /** What the bridge of a watched panel said, masked already. */
  publishRaw(panel: string, frame: PanelRaw): void;
  /** The alarm verifications of the site are others now. */
  verificationsChanged(): void;
  /** In the order of its `seq`. */
  playbackChanged(playback: PlaybackShown): void;
  /** The messages of the site are others now. */
  messagesChanged(): void;
}

const infoEveryMs = 5 * 60_000;
const outboxEveryMs = 10_000;
/** Of messages nobody tells that they are others now, as those of the service. */
const audioEveryMs = 30_000;
const certificateEveryMs = 6 * 3_600_000;
/** How long after each connect what was retained before may come. */
const sweepMs = 3000;
const ghostFilters = [
  ...['link/panel/+', 'link/nvr/+', 'partition/+/+', 'zone/+/+', 'camera/+/+', 'verification/+'],
  ...['audio/+', 'audio/playback/+'],
];
/** Commands that arrive between the subscription and the birth wait for it; more are counted and gone. */
const earlyCap = 64;

export function createLanMqtt(options: LanMqttOptions): LanMqtt {
  const { site, clock, log, metrics } = options;
  const root = rootOf(options.slug);
  const stopping = new AbortController();
  let cloudUp = site.cloudLink() === 'online';
  let { plan } = site.view();
  let early: { readonly topic: string; readonly message: CommandMessage }[] | undefined = [];
  let running: Promise<unknown> | undefined;

  const facts = (): Facts => ({
    version: options.version,
    bootId: options.bootId,
    cloudUp,
    dispatches: site.dispatch !== undefined,
    verifications: site.verifications.list().filter(isPending),
  });
  const publisher = createPublisher({ metrics });
  const leftovers = createLeftovers(publisher);
  const images = createImageFeed({ root, publisher, isRetained: options.retainImages === true, plan });
  /** Replies to calls for help that came before the birth. */
  let unborn: Message[] | undefined;
  /** The broker hides from siteward that what comes live is retained as well. */
  let hidesRetain = false;
  let listeningSince = 0;
  const homeAssistant = createHomeAssistant({
    root,
    ...{ slug: options.slug, version: options.version, told: options.homeAssistant, memory: options.memory },
    publisher,
    plan,
    take: (message) => commands.take(message),
    clear: (verb) => refuseRetained(`cmd/${verb}`, 'ha'),
    onAudio: () => feed.others(),
    ...{ clock, log, metrics },
  });
  const { copies } = homeAssistant;
  const audio = createAudioFeed({
    audio: site.audio,
    hasSpeakers: () => hasSpeakers(plan),
    onChanged: () => feed.others(),
    onMessages: homeAssistant.know,
    clock,
  });
  const others = () => [...audio.topics(), ...homeAssistant.audio()];
  const feed = createStateFeed({ root, publisher, facts, view: site.view(), copies, others, clock });
  const isConnected = () => early === undefined;
  const auditFeed = createAuditFeed({ root, publisher, read: site.auditLines, isConnected });
  const status = (word: 'online' | 'offline'): Message => ({
    topic: `${root}/status`,
    payload: word,
    qos: 1,
    retain: true,
  });
  const commands = createCommands({
    root,
    site,
    facts,
    publish(topic, payload, correlationData, uncounted) {
      const reply = {
        ...replyMessage(topic, payload, correlationData),
        ...(uncounted === true && { uncounted }),
      };
      if (unborn === undefined) publisher.send(reply);
      else if (unborn.length < earlyCap) unborn.push(reply);
    },
    clear: (verb) => refuseRetained(`cmd/${verb}`, isVerb(verb) ? verb : 'unknown'),
    publishImage: images.publish,
    refused: feed.repeat,
    signal: stopping.signal,
    clock,
    log,
    metrics,
  });
  const intake = createIntake({
    root,
    site,
    publish: (topic, payload, correlationData) => void publisher.send(replyMessage(topic, payload, correlationData)),
    clear: () => refuseRetained('in/verification', 'in/verification'),
    clock,
    log,
    metrics,
  });

  function refuseRetained(topic: string, verb: string): void {
    if (!leftovers.clear(`${root}/${topic}`)) return;
    log.warn({ verb }, 'retained MQTT command refused and cleared');
    site.retainedRefused(verb);
  }

  /** What live clients were told last, by topic: bounded by the verifications that are open. */
  let pending = pendingIds(site.verifications.list());

  function verificationsChanged(): void {
    const documents = site.verifications.list();
    for (const one of documents) {
      if (isPending(one) || !pending.has(one.verification_id)) continue;
      // Not retained: it only tells who listens how it ended, before the topic is cleared.
      const topic = `${root}/verification/${one.verification_id}`;
      publisher.send({ topic, payload: JSON.stringify(one), qos: 1, retain: false });
    }
    pending = pendingIds(documents);
    feed.verifications();
  }

  const connection = createConnection({
    connect: options.connect,
    name: `siteward-${options.slug}`,
    clientId: ownClientId(options.connect, `siteward-${options.slug}`),
    will: { topic: `${root}/status`, payload: 'offline' },
    onOpen: birth,
    onClose() {
      early = [];
      unborn = undefined;
      homeAssistant.close();
      leftovers.close();
      publisher.close();
    },
    onMessage,
    onLink: options.onLink,
    onCertificate: options.onCertificate,
    clock,
    log,
  });
  gaugeConnected(metrics, isConnected);
  const earlyDropped = new Counter({
    name: 'siteward_mqtt_early_dropped_total',
    help: 'Commands from MQTT that came before siteward had told its state, and found no room to wait.',
    registers: [metrics],
  });

  function usePlan(view: SiteView): void {
    if (plan !== view.plan) images.change(view.plan);
    plan = view.plan;
    homeAssistant.change(plan);
  }

  /** Commands first, so that none is missed; `online` last, so that nobody reads yesterday's state as today's. */
  async function birth(session: LiveSession): Promise<void> {
    // siteward's own broker keeps no command.
    hidesRetain = options.senderOf === undefined;
    listeningSince = clock.monotonic();
    unborn = [];
    await session.subscribe([`${root}/cmd/#`, `${root}/in/verification`]);
    await homeAssistant.open(session);
    const view = site.view();
    usePlan(view);
    audio.review();
    feed.refresh(view);
    publisher.open(session, [status('online')]);
    for (const reply of unborn ?? []) publisher.send(reply);
    unborn = undefined;
    homeAssistant.born(session);
    const waiting = early ?? [];
    early = undefined;
    for (const { topic, message } of waiting) take(topic, message);
    await sweep(session);
    log.info({ protocol: session.protocol }, 'MQTT connected');
  }

  /** What an earlier run with another configuration left retained is heard once and cleared in `onMessage`. */
  async function sweep(session: LiveSession): Promise<void> {
    const filters = ghostFilters.map((filter) => `${root}/${filter}`);
    await session.subscribe(filters);
    const timer = setTimeout(() => void session.unsubscribe(filters).catch(() => undefined), sweepMs);
    timer.unref();
  }

  function onMessage(packet: IPublishPacket): void {
    const { topic, payload, retain } = packet;
    if (homeAssistant.heard(packet)) return;
    if (!isForSite(root, topic)) {
      if (retain && payload.length > 0 && !publisher.has(topic) && !images.mayStay(topic)) publisher.retract(topic);
      return;
    }
    const isHelp = asksHelp(root, packet);
    const message = received(packet, isHelp);
    if (early === undefined || isHelp) take(topic, message);
    else if (early.length < earlyCap) early.push({ topic, message });
    else earlyDropped.inc();
  }

  /** With what may stay of it at the broker to be cleared: a command at once, a call for help when it is on disk. */
  function received(packet: IPublishPacket, isHelp: boolean): CommandMessage {
    const { topic, payload, retain } = packet;
    const message = commandMessage(root, packet, options.senderOf);
    const mayStay = payload.length > 0 && (retain || hidesRetain);
    if (!isHelp) {
      if (mayStay && !retain) leftovers.clear(topic);
      return message;
    }
    // What was kept from before has come by then: this is live, and no older than it says.
    const isLive = clock.monotonic() - listeningSince > sweepMs;
    const onDone = () => void leftovers.clear(topic);
    return { ...message, retained: retain && !isLive, ...(mayStay && { onDone }) };
  }

  function take(topic: string, message: CommandMessage): void {
    if (topic === `${root}/in/verification`) intake.take(message);
    else if (topic.startsWith(`${root}/cmd/ha/`)) homeAssistant.take(message);
    else commands.take(message);
  }

  async function every(ms: number, work: () => void | Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        log.warn({ reason: describe(error) }, 'MQTT housekeeping failed; it is tried again');
      }
      await sleep(ms, stopping.signal).catch(() => undefined);
    }
  }

  async function publishOutbox(): Promise<void> {
    const { depth, oldestS, dropped } = await site.outbox();
    publisher.state(`${root}/outbox`, JSON.stringify({ depth, oldest_s: oldestS, dropped }), { qos: 0 });
  }

  /** Says goodbye within a second where a connection stands. */
  async function leave(): Promise<void> {
    const gaveUp = new AbortController();
    await Promise.race([publisher.leave(status('offline')), sleep(1000, gaveUp.signal).catch(() => undefined)]);
    gaveUp.abort();
  }

  return {
    name: 'mqtt',
    async start(signal) {
      signal.throwIfAborted();
      running ??= Promise.all([
        connection.run(stopping.signal),
        every(infoEveryMs, feed.info),
        every(audioEveryMs, audio.review),
        every(outboxEveryMs, publishOutbox),
        every(auditEveryMs, auditFeed),
        every(certificateEveryMs, connection.reviewCertificate),
      ]);
    },
    async stop() {
      if (!stopping.signal.aborted && running !== undefined) await leave();
      stopping.abort();
      feed.stop();
      audio.stop();
      await running;
    },
    health: connection.health,
    publishState(view, changes) {
      usePlan(view);
      feed.change(view, changes);
    },
    publishEvent(event) {
      if (isSilent(event)) return;
      const topic = `${root}/event/${event.class}`;
      publisher.send({ topic, payload: JSON.stringify(event), qos: 1, retain: false });
      homeAssistant.event(event);
    },
    publishRaw(panel, frame) {
      publisher.send({ topic: `${root}/panel/raw/${panel}`, payload: JSON.stringify(frame), qos: 0, retain: false });
    },
    verificationsChanged,
    playbackChanged: audio.playback,
    messagesChanged: audio.review,
    setCloudLink(up) {
      cloudUp = up;
      feed.cloud();
    },
  };
}

const pendingIds = (documents: readonly VerificationDocument[]): ReadonlySet<string> =>
  new Set(documents.filter(isPending).map(({ verification_id: id }) => id));

function gaugeConnected(metrics: Registry, isConnected: () => boolean): void {
  new Gauge({
    name: 'siteward_mqtt_connected',
    help: '1 while siteward is connected to its MQTT broker.',
    registers: [metrics],
    collect() {
      this.set(isConnected() ? 1 : 0);
    },
  });
}

function replyMessage(topic: string, payload: string, correlationData: Buffer | undefined): Message {
  const properties = correlationData === undefined ? {} : { properties: { correlationData } };
  return { topic, payload, qos: 1, retain: false, ...properties };
}

function commandMessage(root: string, packet: IPublishPacket, senderOf: LanMqttOptions['senderOf']): CommandMessage {
  const { topic, properties = {} } = packet;
  const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
  const userId = properties.userProperties?.id;
  // Where a broker tells who asks, a name that it does not tell is nobody's.
  const sender = senderOf && (senderOf(topic, payload) ?? { client: unknownClient, proven: false });
  const isTooLarge = payload.length > limits.command_bytes;
  return {
    verb: topic.slice(root.length + '/cmd/'.length),
    // So much tells that it is too large, and holds no megabytes while it waits.
    payload: isTooLarge ? Buffer.from(payload.subarray(0, limits.command_bytes + 1)) : payload,
    retained: packet.retain,
    ...(properties.responseTopic === undefined ? {} : { responseTopic: properties.responseTopic }),
    ...(properties.messageExpiryInterval === undefined ? {} : { expiryS: properties.messageExpiryInterval }),
    ...(properties.correlationData === undefined ? {} : { correlationData: properties.correlationData }),
    ...(typeof userId === 'string' ? { userId } : {}),
    ...(sender === undefined ? {} : { sender }),
  };
}
