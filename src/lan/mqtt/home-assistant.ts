import type { IPublishPacket } from 'mqtt';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { describe } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import {
  type AudioMessageShown,
  isoTime,
  type PartitionPlan,
  type SiteEvent,
  type SitePlan,
  type SiteView,
} from '#site/model/index.ts';
import type { LiveSession } from './connection.ts';
import {
  type Announced,
  type Announcement,
  announcement,
  oldTopics,
  readDiscovery,
  type Told,
  toldOf,
  topicOf,
  union,
} from './home-assistant-announced.ts';
import { createHaAudio } from './home-assistant-audio.ts';
import { createHaCommands, type HaRefusal } from './home-assistant-commands.ts';
import { type HaDevice, haDevices } from './home-assistant-devices.ts';
import { announcedMemory, type HaMemory } from './home-assistant-memory.ts';
import { type HaEventType, haEvent, partitionCopies } from './home-assistant-state.ts';
import type { CommandMessage } from './parse.ts';
import type { Publisher } from './publisher.ts';
import { hasSpeakers, type TopicState } from './state.ts';

/** The site as Home Assistant is told of it; absent: not at all, and what it was told before is taken back. */
export interface HaOptions {
  readonly prefix: string;
  readonly siteName: string;
  /** Of the bridge. */
  readonly serial: string;
  /** Milliseconds from its birth to the states; 2 to 5 s at random, so that many bridges do not answer at once. */
  readonly afterBirthMs?: () => number;
}

export interface HomeAssistantOptions {
  readonly root: string;
  readonly slug: string;
  readonly version: string;
  readonly told: HaOptions | undefined;
  readonly memory: HaMemory | undefined;
  readonly publisher: Publisher;
  readonly plan: SitePlan;
  readonly take: (message: CommandMessage) => void;
  /** Clears a retained command that was refused; `verb` is the topic below `cmd/`. */
  readonly clear: (verb: string) => void;
  /** Its topics of `audio` are others now. */
  readonly onAudio: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** Home Assistant on the same broker. None of its methods throws. */
export interface HomeAssistant {
  /** Listens to it over a new connection, before anything is sent. */
  open(session: LiveSession): Promise<void>;
  /** The connection carries messages: says what there is, and takes back what is no more. */
  born(session: LiveSession): void;
  close(): void;
  /** True for what is on its own topics and nobody else's business. */
  heard(packet: IPublishPacket): boolean;
  /** What came on a topic below `cmd/ha/`. */
  take(message: CommandMessage): void;
  /** The copies of a partition's state that are its alone. */
  copies(view: SiteView, plan: PartitionPlan): TopicState[];
  change(plan: SitePlan): void;
  event(event: SiteEvent): void;
  /** The messages there are. */
  know(messages: readonly AudioMessageShown[]): void;
  /** What is set for its button, as topics below the root. */
  audio(): readonly TopicState[];
}

/** How long what an earlier run has announced is listened for. */
const sweepMs = 3000;

export function createHomeAssistant(options: HomeAssistantOptions): HomeAssistant {
  const { root, slug, told, publisher, clock, log } = options;
  const memory = announcedMemory(options.memory, log);
  const afterBirthMs = told?.afterBirthMs ?? (() => 2000 + Math.random() * 3000);
  let known: Announced | undefined;
  let isRemembered = false;
  /** What the broker has retained of an earlier run; bounded by its own cap. */
  let found: Told = {};
  let session: LiveSession | undefined;
  let { plan } = options;
  let isAnnouncing = false;
  let asked: { force: boolean } | undefined;
  let birth: NodeJS.Timeout | undefined;
  let birthAgain = false;
  /** It is known to be on the broker, so that what is said is heard: its birth was, and its will was not. */
  let isThere = false;
  /** Under which prefix its birth is listened for. */
  let listening: string | undefined;

  const audio = createHaAudio();
  const commands = createHaCommands({
    plan: () => plan,
    audio,
    onAudio: options.onAudio,
    take: options.take,
    clear: options.clear,
    tell,
    clock,
    metrics: options.metrics,
  });

  function tell(type: HaEventType, { id, partition, camera, ...data }: HaRefusal): void {
    const event = {
      ...{ event_id: id, event_type: type, kind: type, class: 'command', at: isoTime(clock.wall()), data },
      ...(partition !== undefined && { partition }),
      ...(camera !== undefined && { camera }),
    };
    publisher.send({ topic: `${root}/event/ha`, payload: JSON.stringify(event), qos: 1, retain: false });
  }

  function devices(): HaDevice[] {
    if (told === undefined) return [];
    const { siteName, serial } = told;
    return haDevices(plan, { root, slug, version: options.version, siteName, serial, messages: audio.names });
  }

  /** One at a time; whatever is asked meanwhile is done after it, at once for all. */
  function announce(force: boolean): void {
    asked = { force: force || asked?.force === true };
    if (!isAnnouncing) void announceAll();
  }

  async function announceAll(): Promise<void> {
    isAnnouncing = true;
    while (asked !== undefined) {
      const { force } = asked;
      asked = undefined;
      try {
        await say(force);
      } catch (error) {
        log.warn({ reason: describe(error) }, 'Home Assistant could not be told of the site; it is told again later');
      }
    }
    isAnnouncing = false;
  }

  async function say(force: boolean): Promise<void> {
    await remember();
    const over = session;
    const prefix = told?.prefix ?? known?.prefix;
    if (over === undefined || prefix === undefined) return;
    await listen(over, prefix);
    if (session !== over) return;
    const isSame = known?.prefix === prefix && known.slug === slug;
    const before = union(isSame ? (known?.devices ?? {}) : {}, found);
    found = {};
    const wanted = devices();
    const topics = new Set(wanted.map(({ id }) => topicOf(prefix, id)));
    const old = oldTopics(known, prefix, slug).filter((topic) => !topics.has(topic));
    for (const topic of old) publisher.retract(topic);
    publish(prefix, wanted, announcement(before, wanted), force);
    const after = { prefix, slug, devices: toldOf(wanted), old: [] };
    // What is taken back stays known until Home Assistant must have heard it, and is taken back again at its birth.
    const mine = { ...after, devices: union(before, after.devices), old };
    known = mine;
    await memory.write(mine);
    void confirm(over, mine, after);
  }

  function publish(prefix: string, wanted: readonly HaDevice[], { once, gone }: Announcement, force: boolean): void {
    for (const { id, payload } of once) {
      publisher.send({ topic: topicOf(prefix, id), payload, qos: 1, retain: true });
    }
    const touched = new Set(once.map(({ id }) => id));
    for (const { id, config } of wanted) {
      publisher.state(topicOf(prefix, id), JSON.stringify(config), { force: force || touched.has(id) });
    }
    for (const id of gone) publisher.retract(topicOf(prefix, id));
  }

  async function confirm(over: LiveSession, mine: Announced, after: Announced): Promise<void> {
    await publisher.drained();
    if (session !== over || known !== mine || !isThere) return;
    known = told === undefined ? undefined : after;
    await memory.write(known);
  }

  async function remember(): Promise<void> {
    if (isRemembered) return;
    try {
      const stored = await memory.read();
      isRemembered = true;
      known ??= stored;
    } catch (error) {
      log.warn({ reason: describe(error) }, 'what Home Assistant was told before cannot be read');
    }
  }

  /** It is there anew: discovery at once, and the states when it has made its entities of it. */
  function haBorn(): void {
    if (birth !== undefined) {
      birthAgain = true;
      return;
    }
    announce(true);
    if (told === undefined) return;
    birth = setTimeout(() => {
      birth = undefined;
      publisher.again((topic) => topic.startsWith(`${root}/`));
      const isWanted = birthAgain;
      birthAgain = false;
      if (isWanted) haBorn();
    }, afterBirthMs());
    birth.unref();
  }

  async function listen(over: LiveSession, prefix: string, more: readonly string[] = []): Promise<void> {
    if (listening === prefix) return;
    listening = prefix;
    try {
      await over.subscribe([`${prefix}/status`, ...more]);
    } catch (error) {
      log.warn({ reason: describe(error) }, 'the broker does not let siteward listen to Home Assistant');
    }
  }

  function sweep(over: LiveSession, filter: string): void {
    setTimeout(() => void over.unsubscribe([filter]).catch(() => undefined), sweepMs).unref();
  }

  return {
    async open(over) {
      commands.opened();
      found = {};
      isThere = false;
      listening = undefined;
      if (told !== undefined) await listen(over, told.prefix, [topicOf(told.prefix, '+')]);
    },
    born(over) {
      session = over;
      commands.opened();
      if (told !== undefined) sweep(over, topicOf(told.prefix, '+'));
      announce(false);
    },
    close() {
      session = undefined;
      isThere = false;
      clearTimeout(birth);
      birth = undefined;
      birthAgain = false;
    },
    heard({ topic, payload, retain }) {
      if (listening === undefined || !topic.startsWith(`${listening}/`)) return false;
      if (topic === `${listening}/status`) {
        isThere = payload.toString() === 'online';
        // With a retained one it was there before, and siteward says everything anyhow.
        if (isThere && !retain && session !== undefined) haBorn();
        return true;
      }
      if (told === undefined) return true;
      const id = topic.slice(told.prefix.length + '/device/'.length, -'/config'.length);
      if (!retain || topic !== topicOf(told.prefix, id) || payload.length === 0) return true;
      const said = readDiscovery(slug, id, Buffer.from(payload));
      if (said !== undefined) ghosts(said);
      return true;
    },
    take: commands.take,
    copies: (view, partition) => (told === undefined ? [] : partitionCopies(view, partition)),
    change(next) {
      if (next === plan) return;
      plan = next;
      if (session !== undefined) announce(false);
    },
    know(messages) {
      if (audio.know(messages) && session !== undefined && hasSpeakers(plan)) announce(false);
    },
    audio: () => (told === undefined || !hasSpeakers(plan) ? [] : audio.topics()),
    event(event) {
      const copy = told === undefined ? undefined : haEvent(event);
      if (copy === undefined) return;
      publisher.send({ topic: `${root}/event/ha`, payload: JSON.stringify(copy), qos: 1, retain: false });
    },
  };

  /** An earlier run, whose memory is lost, has announced this. */
  function ghosts(said: Told): void {
    found = union(found, said);
    if (session !== undefined) announce(false);
  }
}
