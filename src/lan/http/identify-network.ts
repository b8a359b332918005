import type { IncomingMessage } from 'node:http';
import { type Caller, credentialsOf, denial, type GuardRefusal, guard } from '#lan/access/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import type { Identify } from './app.ts';
import { addressOf, isPublic } from './network-address.ts';
import type { LanPort } from './port.ts';
import { problemReply } from './problem.ts';
import { bindingsOf } from './serving.ts';

const nobody: Caller = { kind: 'nobody' };

const codes = {
  host: 'host_refused',
  token_in_query: 'token_in_query',
  origin: 'origin_refused',
  media: 'media_refused',
} as const satisfies Record<GuardRefusal['reason'], string>;

/** Who calls over the network: behind the guards, by session or key, from the address of its connection. */
export function identifyNetwork(port: LanPort, names: ReadonlySet<string>): Identify {
  return (operation, context) => {
    const header = (name: string) => context.req.header(name);
    const authorization = header('authorization');
    const refusal = guard(
      {
        method: context.req.method,
        host: header('host'),
        origin: header('origin'),
        secFetchSite: header('sec-fetch-site'),
        contentType: header('content-type'),
        hasBody: header('transfer-encoding') !== undefined || Number(header('content-length') ?? 0) > 0,
        // A browser may send other schemes by itself, from what somebody once typed.
        isBearer: /^bearer /i.test(authorization ?? ''),
        query: new URL(context.req.url).searchParams,
      },
      { names, scheme: 'https', ...(operation.body !== undefined && { media: operation.body.media }) },
    );
    if (refusal !== undefined) return refused(refusal);
    const from = { address: addressOf(bindingsOf(context)?.incoming.socket ?? {}) };
    // What is open answers also while nobody can be let in.
    if (denial(nobody, operation.id) === undefined) return { caller: nobody, from };
    const access = port.access();
    const caller = access.caller(credentialsOf(authorization, header('cookie')));
    access.permit(caller, operation.id);
    return { caller, from };
  };
}

const refused = ({ status, reason, detail }: GuardRefusal): Reply => problemReply(status, codes[reason], { detail });

/** What holds for every path, also for one that does not exist; undefined: it may go on. */
export function refuseAtDoor(
  {
    headers,
    headersDistinct,
    url = '',
    socket,
  }: Pick<IncomingMessage, 'headers' | 'headersDistinct' | 'url' | 'socket'>,
  port: LanPort,
  names: ReadonlySet<string>,
): Reply | undefined {
  // Whoever writes a whole address, or `*`, takes the bridge for a proxy.
  if (!url.startsWith('/')) return problemReply(400, 'request_invalid', { detail: 'The path has to begin with "/".' });
  // RFC 9112, 3.2: of two, each reader would take its own.
  if ((headersDistinct.host?.length ?? 0) > 1)
    return problemReply(400, 'request_invalid', { detail: 'There has to be one Host.' });
  const query = new URLSearchParams(url.replace(/^[^?]*/, ''));
  // As a request that changes nothing: where it comes from and its body count for an operation alone.
  const head = { ...nothing, host: headers.host, query };
  const refusal = guard(head, { names, scheme: 'https' });
  if (refusal !== undefined) return refused(refusal);
  if (isPublic(addressOf(socket)) && isUnclaimed(port))
    return problemReply(403, 'unclaimed', { detail: unclaimedText });
  return undefined;
}

const nothing = {
  method: 'GET',
  origin: undefined,
  secFetchSite: undefined,
  contentType: undefined,
  hasBody: false,
  isBearer: false,
} as const;

const unclaimedText =
  'Nobody has claimed this bridge yet. Until then it answers in its own network alone: claim it from there.';

function isUnclaimed(port: LanPort): boolean {
  try {
    return port.access().shown() === 'unclaimed';
  } catch {
    // At a start, a stop and a reload nobody is let in anyway.
    return false;
  }
}
