import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context } from 'hono';
import type { Logger } from 'pino';
import { sleep } from '#lib/wait.ts';

/** What a listener says of a request beside the request itself. */
export interface LanBindings {
  readonly requestId: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Undefined where the app is asked without a listener. */
export const bindingsOf = (context: Context): LanBindings | undefined =>
  (context.env as Partial<LanBindings> | undefined)?.incoming === undefined ? undefined : (context.env as LanBindings);

export const requestIdOf = (context: Context): string | undefined => bindingsOf(context)?.requestId;

/** Short enough to be read out on the telephone; it stands for one answer and opens nothing. */
export const newRequestId = (): string => randomBytes(6).toString('hex');

export function setRequestId(outgoing: ServerResponse): string {
  const id = newRequestId();
  outgoing.setHeader('x-request-id', id);
  return id;
}

export type Take = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** What a listener does with requests. */
export interface Later {
  readonly take: Take;
  /** What takes them is made within a second, unless the signal comes first. */
  begin(signal: AbortSignal): void;
}

/**
 * What takes requests is made when the first one comes, or a second after the listener has begun: most of the program is loaded for it alone,
 * and no start of the daemon waits for that. Where it cannot be made each request is answered with 500, and the next one tries again.
 */
export function takeLater(make: () => Promise<Take>, log: Logger): Later {
  let made: Take | undefined;
  let making: Promise<Take | undefined> | undefined;

  async function load(): Promise<Take | undefined> {
    try {
      made = await make();
    } catch (error) {
      log.error({ err: error }, 'the LAN API cannot be loaded; installing siteward again mends that');
    } finally {
      making = undefined;
    }
    return made;
  }

  async function wait(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    making ??= load();
    const take = await making;
    if (take === undefined) outgoing.writeHead(500).end();
    else take(incoming, outgoing);
  }
  return {
    take: (incoming, outgoing) => (made === undefined ? void wait(incoming, outgoing) : made(incoming, outgoing)),
    begin: (signal) =>
      void sleep(1000, signal).then(
        () => (making ??= load()),
        () => undefined,
      ),
  };
}
