import { eventClasses, type SiteEvent } from '#site/model/index.ts';
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
import { topicTable } from './table.ts';

/** Room for the reply's other members within its cap. */
const dataBytes = limits.reply_bytes - 700;

export type Answer = Readonly<Record<string, unknown>>;

/** Whether the client may read a topic below the root. */
export type MayRead = (topic: string) => boolean;

/** The topics that say the same live: who may read none of them is told nothing here either. */
const topicsOf: Readonly<Record<QueryBody['what'], readonly string[]>> = {
  partitions: [topicTable.partitionDetail.topic],
  zones: [topicTable.zoneDetail.topic],
  troubles: [topicTable.trouble.topic],
  info: [topicTable.info.topic],
  history: eventClasses.map(eventTopic),
  verifications: [topicTable.verification.topic],
  audio: [topicTable.audioMessages.topic],
};
const mostEvents = 200;

/** Answers a query from the view, or says why not. Never changes anything. */
export async function answer(
  body: Pick<QueryBody, 'what' | 'limit'>,
  site: SitePort,
  facts: Facts,
  mayRead: MayRead,
): Promise<Answer | 'FORBIDDEN' | 'NOT_CONFIGURED'> {
  if (!topicsOf[body.what].some(mayRead)) return 'FORBIDDEN';
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
      const wanted = body.limit ?? 20;
      const isShown = (event: SiteEvent) => !isSilent(event) && mayRead(eventTopic(event.class));
      const newest = (await site.events(wanted)).filter(isShown);
      // Among the last ones were some that are not for this client: it gets as many as it asked for all the same.
      const shown = newest.length < wanted ? (await site.events(mostEvents)).filter(isShown) : newest;
      return page('events', shown.slice(0, wanted), limit);
    }
    case 'verifications':
      return page('verifications', site.verifications.list(), limit);
    case 'audio':
      return hasSpeakers(view.plan) ? sound(site, limit) : 'NOT_CONFIGURED';
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

function eventTopic(of: SiteEvent['class']): string {
  return topicTable.event.topic.replace('{class}', of);
}

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
