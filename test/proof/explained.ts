import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted } from '../harness/cloud.ts';
import type { Stimulus } from './stream.ts';

/** What could have caused an event of the site. */
function causesOf(event: SiteEvent): readonly Stimulus['what'][] {
  if (event.class === 'arming') return event.kind === 'disarmed' ? ['disarm'] : ['arm'];
  if (event.status === 'cancelled') return ['disarm'];
  return event.status === 'restored' ? ['close', 'nobody'] : ['open', 'person'];
}

/** Troubles the daemon reports of its own accord. */
const ownTroubles: ReadonlySet<string> = new Set(['device_offline', 'panel_offline', 'runaway', 'supervision']);

/** Messages the broker may have handed out that were not acknowledged when the daemon ended. */
const unacknowledged = 64;

/** A stimulus that is older explains nothing; between the two lie at most a restart and what waited meanwhile. */
const explainsForMs = 30_000;

interface Use {
  readonly stimulus: Stimulus;
  readonly index: number;
  /** When the event happened that it explains. */
  used?: number;
}

/**
 * Events that no stimulus explains. Each stimulus explains one event that happened after it; a disarming explains a
 * cancelled alarm as well. After an end of the daemon it may explain one more: a contact whose message was not
 * acknowledged comes again from the broker, and a camera tells anew what it still sees (`late`).
 */
export function unexplained(
  record: readonly Accepted[],
  stimuli: readonly Stimulus[],
  ends: readonly number[],
): readonly SiteEvent[] {
  const pools = new Map<string, Use[]>();
  const poolOf = (event: SiteEvent): Use[] => {
    const about = event.class === 'arming' || event.status === 'cancelled' ? event.partition : event.zone;
    const key = `${event.class} ${event.kind} ${event.status} ${about}`;
    const causes = causesOf(event);
    const pool = pools.get(key) ?? [];
    if (!pools.has(key)) {
      pools.set(key, pool);
      for (const [index, stimulus] of stimuli.entries())
        if (stimulus.about === about && causes.includes(stimulus.what)) pool.push({ stimulus, index });
    }
    return pool;
  };
  const left: SiteEvent[] = [];
  for (const event of record.map(({ body }) => body.payload).sort((a, b) => a.seq - b.seq)) {
    if (event.class === 'trouble' && ownTroubles.has(event.kind)) continue;
    const use = explanation(event, poolOf(event), { stimuli, ends });
    if (use === undefined) left.push(event);
    else use.used = Date.parse(event.at);
  }
  return left;
}

function explanation(
  event: SiteEvent,
  pool: readonly Use[],
  { stimuli, ends }: { stimuli: readonly Stimulus[]; ends: readonly number[] },
): Use | undefined {
  const at = Date.parse(event.at);
  const near = pool.filter(({ stimulus }) => stimulus.at <= at && stimulus.at > at - explainsForMs);
  const fresh = near.find(({ used }) => used === undefined);
  if (fresh !== undefined || event.class === 'arming') return fresh;
  return near.findLast((use) => {
    const { used = 0, index } = use;
    const end = ends.find((moment) => moment >= used && moment <= at);
    if (end === undefined) return false;
    if (event.late === true) return true;
    return stimuli.filter((other, place) => place > index && other.at <= end).length <= unacknowledged;
  });
}
