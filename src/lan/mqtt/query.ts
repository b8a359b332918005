import type { SiteEvent } from '#site/model/index.ts';
import { isHeard, messagesNow } from './audio-feed.ts';
import type { QueryBody } from './schemas.ts';
import { isSilent } from './silent.ts';
import type { SitePort } from './site-port.ts';
import {
  detailOf,
  type Facts,
  hasSpeakers,
  infoOf,
  limits,
  troubleItems,
  visibleZones,
  zoneDetailOf,
} from './state.ts';

/** Room for the reply's other members within its cap. */
const dataBytes = limits.reply_bytes - 700;

export type Answer = Readonly<Record<string, unknown>>;

/** Answers a query from the view; undefined for what this site does not have. Never changes anything. */
export async function answer(
  body: Pick<QueryBody, 'what' | 'limit'>,
  site: SitePort,
  facts: Facts,
): Promise<Answer | undefined> {
  const view = site.view();
  const limit = body.limit ?? 200;
  switch (body.what) {
    case 'partitions':
      return page(
        'partitions',
        view.plan.partitions.map((plan) => detailOf(view, plan)),
        limit,
      );
    case 'zones': {
      const states = new Map(view.zones.map((zone) => [zone.number, zone]));
      const zones = visibleZones(view).map((plan) => zoneDetailOf(view, plan, states.get(plan.number)));
      return page('zones', zones, limit);
    }
    case 'troubles':
      return page('items', troubleItems(view), limit);
    case 'info':
      return { info: infoOf(view, facts) };
    case 'history': {
      const events = await site.events(body.limit ?? 20);
      return page('events', events.filter(isNotSilent), limit);
    }
    case 'verifications':
      return page('verifications', site.verifications.list(), limit);
    case 'audio':
      return hasSpeakers(view.plan) ? sound(site, limit) : undefined;
    default:
      return undefined;
  }
}

/** What can be played, where, and whether something sounds. */
function sound({ audio }: SitePort, limit: number): Answer {
  const messages = (messagesNow(audio) ?? []).map(({ audio_message_id, name, category, language }) => ({
    ...{ audio_message_id, name, category, language },
  }));
  const speakers = audio.speakers().map(({ device_id, name, enabled, up }) => ({ device_id, name, enabled, up }));
  const state = audio.playbacks().some(isHeard) ? 'playing' : 'idle';
  return {
    state,
    ...page('speakers', speakers, limit, dataBytes * 0.3),
    ...page('messages', messages, limit, dataBytes * 0.7),
  };
}

const isNotSilent = (event: SiteEvent) => !isSilent(event);

/** As many items as the caller wants and the reply can hold; `truncated` tells that there were more. */
function page(name: string, items: readonly unknown[], limit: number, most = dataBytes): Answer {
  const kept: unknown[] = [];
  let bytes = name.length + 32;
  for (const item of items.slice(0, limit)) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes > most) break;
    kept.push(item);
  }
  return kept.length === items.length ? { [name]: kept } : { [name]: kept, truncated: true, total: items.length };
}
