import { SitewardError } from '#errors.ts';
import { type Access, type By, type Caller, denial } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { askerOf } from './answering.ts';
import type { Live } from './live.ts';
import type { StreamTopic, streamOperations } from './stream-operations.ts';

/** What whoever is told of a topic may ask for, too. */
const shownBy: Readonly<Record<StreamTopic, string>> = {
  events: 'listEvents',
  status: 'getStatus',
  partitions: 'listPartitions',
  zones: 'listZones',
  playbacks: 'listPlaybacks',
};

export function streamHandlers(port: {
  live(): Pick<Live, 'open'>;
  access(): Pick<Access, 'mayStay'>;
}): Handlers<typeof streamOperations, By> {
  return {
    async streamEvents({ query, identity, header, signal }) {
      const { caller } = identity;
      const { stream, cut, end } = await port.live().open({
        topics: topicsOf(query.topics, caller),
        after: lastEventId(header('last-event-id')) ?? query.after,
        client: askerOf(identity).client,
        mayStay: () => caller.kind === 'local' || mayStay(port, caller),
      });
      if (signal.aborted) end('gone');
      signal.addEventListener('abort', () => end('gone'), { once: true });
      return {
        status: 200,
        body: stream,
        cut,
        headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
      };
    },
  };
}

/** While nobody can tell, nobody stays. */
function mayStay(port: { access(): Pick<Access, 'mayStay'> }, caller: Caller): boolean {
  try {
    return port.access().mayStay(caller, 'streamEvents');
  } catch {
    return false;
  }
}

function topicsOf(names: string, caller: Caller): ReadonlySet<StreamTopic> {
  const asked = names.split(',') as StreamTopic[];
  const topics = new Set(asked.filter((topic) => denial(caller, shownBy[topic]) === undefined));
  if (topics.size > 0) return topics;
  throw new SitewardError('access_denied', 'this account or API key may see none of these topics');
}

function lastEventId(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new SitewardError('request_invalid', 'Last-Event-ID must be the seq of an event', {
    facts: { field: 'Last-Event-ID' },
  });
}
