import type { Clock } from '#lib/clock.ts';
import { type Changes, isVisibleZone, openShown, type PartitionPlan, type SiteView } from '#site/model/index.ts';
import type { Publisher } from './publisher.ts';
import {
  allTopics,
  cameraTopics,
  type Facts,
  infoTopic,
  linkTopics,
  partitionTopics,
  type TopicState,
  troubleTopics,
  verificationTopics,
  visibleZones,
  zoneTopics,
  zoneWord,
} from './state.ts';
import { zoneGate } from './zone-gate.ts';

/** Keeps the retained topics equal to the site's view, at a pace that a chattering zone cannot raise. */
export interface StateFeed {
  /** Everything, and what the plan no longer has is retracted. */
  refresh(view: SiteView): void;
  change(view: SiteView, changes: Changes): void;
  /** Sends a partition's topics again though nothing changed (rule C9). */
  repeat(partition: string): void;
  cloud(): void;
  verifications(): void;
  /** Those that are made elsewhere. */
  others(): void;
  info(): void;
  stop(): void;
}

/**
 * Zones touch the lists in a partition's detail; those may lag so much, and what else changes in a zone than its word. A partition's own
 * change never does.
 */
const detailLagMs = 200;

export interface StateFeedOptions {
  readonly root: string;
  readonly publisher: Publisher;
  readonly facts: () => Facts;
  readonly view: SiteView;
  /** Further topics of a partition. */
  readonly copies: (view: SiteView, plan: PartitionPlan) => readonly TopicState[];
  /** Topics that are made elsewhere. */
  readonly others?: () => readonly TopicState[];
  readonly clock: Clock;
}

export function createStateFeed(options: StateFeedOptions): StateFeed {
  const { root, publisher, facts, clock, copies, others = () => [] } = options;
  const gate = zoneGate({ clock });
  const lagging = { partitions: new Set<string>(), zones: new Set<string>() };
  let { view } = options;
  /** Names of the others that were set last. */
  let known: readonly string[] = [];
  let gateTimer: NodeJS.Timeout | undefined;
  let lagTimer: NodeJS.Timeout | undefined;

  function set(states: readonly TopicState[], force = false): void {
    for (const [topic, payload] of states) publisher.state(`${root}/${topic}`, payload, { force });
  }

  function refresh(next: SiteView): void {
    view = next;
    const wanted = [...view.plan.partitions.flatMap((plan) => copies(view, plan)), ...allTopics(view, facts())];
    const states = new Map(view.zones.map((zone) => [zone.number, zone]));
    gate.reset(visibleZones(view).map(({ number, type }) => [number, zoneWord(openShown(type, states.get(number)))]));
    const further = others();
    known = further.map(([topic]) => topic);
    const names = new Set([...wanted, ...further].map(([topic]) => `${root}/${topic}`).concat(`${root}/outbox`));
    const isOurs = (topic: string) => topic.startsWith(`${root}/`);
    for (const topic of publisher.topics()) if (isOurs(topic) && !names.has(topic)) publisher.retract(topic);
    set(further);
    set(wanted);
  }

  function changeZones(numbers: ReadonlySet<string>): void {
    for (const number of numbers) {
      const plan = view.plan.zones.find((zone) => zone.number === number);
      if (plan === undefined || !isVisibleZone(plan)) continue;
      for (const partition of plan.partitions) lagging.partitions.add(partition);
      const state = view.zones.find((zone) => zone.number === number);
      const step = gate.offer(number, zoneWord(openShown(plan.type, state)));
      if (step === undefined) continue;
      if (step.words.length === 0) lagging.zones.add(number);
      else sendZone(step.zone, step.words);
    }
    armGate();
    lagTimer ??= setTimeout(catchUp, detailLagMs);
  }

  function catchUp(): void {
    lagTimer = undefined;
    changePartitions((plan) => lagging.partitions.has(plan.id));
    for (const number of lagging.zones) sendZone(number, []);
    lagging.partitions.clear();
    lagging.zones.clear();
  }

  function changePartitions(which: (plan: PartitionPlan) => boolean, force = false): void {
    for (const plan of view.plan.partitions)
      if (which(plan)) set([...partitionTopics(view, plan), ...copies(view, plan)], force);
  }

  /** A short opening: all words but the last go the way of messages, of which none is skipped for a later one. */
  function sendZone(number: string, words: readonly string[]): void {
    const plan = view.plan.zones.find((zone) => zone.number === number);
    if (plan === undefined) return;
    const topic = `${root}/zone/${number}/state`;
    for (const word of words.slice(0, -1)) publisher.send({ topic, payload: word, qos: 1, retain: true });
    const last = words.at(-1);
    if (last !== undefined) publisher.state(topic, last, { force: words.length > 1 });
    const states = zoneTopics(
      view,
      plan,
      view.zones.find((zone) => zone.number === number),
    );
    set(states.filter(([name]) => !name.endsWith('/state')));
  }

  function armGate(): void {
    if (gateTimer !== undefined) return;
    const nextMs = gate.nextMs();
    if (nextMs === undefined) return;
    gateTimer = setTimeout(() => {
      gateTimer = undefined;
      for (const step of gate.due()) sendZone(step.zone, step.words);
      armGate();
    }, nextMs);
  }

  return {
    refresh,
    change(next, changes) {
      if (next.plan !== view.plan) return refresh(next);
      view = next;
      if (changes.links)
        set([...linkTopics(view, facts()), ...view.plan.cameras.flatMap(({ id }) => cameraTopics(view, id))]);
      changePartitions((plan) => changes.links || changes.partitions.includes(plan.id));
      const zones = changes.links ? view.plan.zones.map((zone) => zone.number) : changes.zones;
      if (zones.length > 0) changeZones(new Set(zones));
      if (changes.troubles) set(troubleTopics(view));
    },
    repeat: (partition) => changePartitions((plan) => partition === 'all' || partition === plan.id, true),
    /** One that has ended is shown as it ended to whoever listens, and is gone for whoever comes later. */
    verifications() {
      const wanted = verificationTopics(facts());
      const names = new Set(wanted.map(([topic]) => `${root}/${topic}`));
      for (const topic of publisher.topics())
        if (topic.startsWith(`${root}/verification/`) && !names.has(topic)) publisher.retract(topic);
      set(wanted);
    },
    others() {
      const wanted = others();
      const names = new Set(wanted.map(([topic]) => topic));
      for (const topic of known) if (!names.has(topic)) publisher.retract(`${root}/${topic}`);
      known = [...names];
      set(wanted);
    },
    cloud: () => set([...linkTopics(view, facts()), infoTopic(view, facts(), clock.wall())]),
    info: () => set([infoTopic(view, facts(), clock.wall())]),
    stop() {
      clearTimeout(gateTimer);
      clearTimeout(lagTimer);
    },
  };
}
