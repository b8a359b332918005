import { createHash } from 'node:crypto';
import { describe, isCode } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import type { CodeCheck } from '#site/model/index.ts';
import { cancel, play } from './audio-requests.ts';
import type { ParsedCommand } from './parse.ts';
import type { Final } from './schemas.ts';
import type { DispatchOutcome, SitePort } from './site-port.ts';
import { limits } from './state.ts';

/** What is asked of another room than the core: a picture, a message to be played, help to be sent. */
export type Request = Extract<ParsedCommand, { verb: 'snapshot' | 'play' | 'cancel' | 'dispatch' | 'watch' }>;
const verbs: readonly string[] = ['snapshot', 'play', 'cancel', 'dispatch', 'watch'];
export const isRequest = (parsed: ParsedCommand): parsed is Request => verbs.includes(parsed.verb);

export interface RequestsOptions {
  readonly site: Pick<SitePort, 'snapshot' | 'dispatch' | 'watchPanel' | 'audio' | 'view'>;
  /** Resolves when the picture has left, or was dropped: false where there is no connection. */
  readonly publishImage: (camera: string, jpeg: Uint8Array) => Promise<boolean>;
  /** Aborts when nobody waits for an answer any more. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly onFault: (verb: string, reason: string) => void;
}

export interface Requests {
  /** The one answer to a request, however often it comes under its id; undefined where it is new. */
  known(client: string, request: Request): Promise<Final> | undefined;
  /** `check` is what its code says, which the site has found good. Never rejects. */
  perform(client: string, request: Request, check: CodeCheck): Promise<Final>;
}

const imageBytes = 512 * 1024;
/** Requests of a kind that are under way; each picture may wait in memory, and each speaker has a queue of its own. */
const atOnce = { snapshot: 4, dispatch: 4, play: 64, cancel: 64, watch: 4 } as const;
/** Requests that are remembered, so that a repeat has one effect. After a restart of the daemon it is a request again. */
const remembered = 256;
const clientCap = 256;

export function createRequests(options: RequestsOptions): Requests {
  const { site } = options;
  const answers = new BoundedMap<string, { readonly hash: string; readonly final: Promise<Final> }>(remembered);
  // Each stands in the audit log: nobody who plays may push out what else is there.
  const plays = rateLimit({
    clock: options.clock,
    burst: limits.plays_per_minute,
    perSecond: limits.plays_per_minute / 60,
    cap: clientCap,
  });
  const underWay = { snapshot: 0, dispatch: 0, play: 0, cancel: 0, watch: 0 };

  async function snapshot(client: string, { body }: Extract<Request, { verb: 'snapshot' }>): Promise<Final> {
    const { camera, deliver = 'image_topic' } = body;
    if (deliver !== 'image_topic') return refused('NOT_CONFIGURED', 'deliver');
    try {
      const jpeg = await site.snapshot(camera, client, options.signal);
      if (jpeg.byteLength > imageBytes) return { outcome: 'failed', error: { code: 'TOO_LARGE' } };
      if (!(await options.publishImage(camera, jpeg))) return failed('BUSY');
      const facts = readJpeg(jpeg);
      const size = typeof facts === 'string' ? {} : { width: facts.width, height: facts.height };
      const sha256 = createHash('sha256').update(jpeg).digest('hex');
      return { outcome: 'done', data: { camera, bytes: jpeg.byteLength, sha256, ...size } };
    } catch (error) {
      if (isCode(error, 'camera_unknown')) return refused('UNKNOWN_TARGET', 'camera');
      if (isCode(error, 'camera_refused')) return refused('NOT_ALLOWED', 'camera');
      return { outcome: 'failed', error: { code: 'CAMERA_UNAVAILABLE' } };
    }
  }

  async function dispatch(client: string, { body }: Extract<Request, { verb: 'dispatch' }>): Promise<Final> {
    if (site.dispatch === undefined) return refused('NOT_CONFIGURED');
    const { kind, partition, event_id: eventId, note } = body;
    const more = {
      ...(partition !== undefined && { partition }),
      ...(eventId !== undefined && { eventId }),
      ...(note !== undefined && { note }),
    };
    return dispatched(await site.dispatch({ id: body.id, kind, client, ...more }, options.signal));
  }

  async function act(client: string, request: Request, check: CodeCheck): Promise<Final> {
    switch (request.verb) {
      case 'snapshot':
        return snapshot(client, request);
      case 'dispatch':
        return dispatch(client, request);
      case 'watch': {
        const { panel, minutes } = request.body;
        if (!site.watchPanel(panel, minutes, client)) return refused('UNKNOWN_TARGET', 'panel');
        return { outcome: 'done', data: { panel, minutes } };
      }
      case 'play':
        return play(site, client, request.body);
      case 'cancel':
        return cancel(site, client, request.body, check);
    }
  }

  async function perform(client: string, request: Request, check: CodeCheck): Promise<Final> {
    const { verb } = request;
    if (underWay[verb] >= atOnce[verb]) return failed('BUSY');
    // Who has a code is known by it; under duress as with any right code (safety 4).
    if (verb === 'play' && check.code === 'none' && !plays.take(client)) return tooMany;
    underWay[verb] += 1;
    try {
      return await act(client, request, check);
    } catch (error) {
      options.onFault(verb, describe(error));
      return failed('INTERNAL');
    } finally {
      underWay[verb] -= 1;
    }
  }

  return {
    known(client, request) {
      const found = answers.get(keyOf(client, request));
      if (found === undefined) return undefined;
      return found.hash === request.bodyHash ? found.final : Promise.resolve(refused('ID_CONFLICT'));
    },
    perform(client, request, check) {
      const key = keyOf(client, request);
      const final = perform(client, request, check);
      answers.set(key, { hash: request.bodyHash, final });
      // What was not begun may be asked again under the same id.
      void final.then((told) => hasNotBegun(told) && answers.delete(key));
      return final;
    },
  };
}

const hasNotBegun = ({ outcome, error }: Final): boolean =>
  error?.code === 'BUSY' ||
  error?.code === 'RATE_LIMITED' ||
  (outcome === 'refused' && error?.code === 'AUDIO_UNAVAILABLE');

const keyOf = (client: string, { body }: Request): string => `${client} ${body.id}`;

const refused = (code: string, field?: string): Final => ({
  outcome: 'refused',
  error: { code, ...(field !== undefined && { field }) },
});

const tooMany: Final = {
  outcome: 'refused',
  error: { code: 'RATE_LIMITED', retry_after_s: Math.ceil(60 / limits.plays_per_minute) },
};

const failed = (code: 'BUSY' | 'INTERNAL'): Final => ({
  outcome: 'failed',
  error: { code, ...(code === 'BUSY' && { retry_after_s: 1 }) },
});

/** A dispatch is never kept for later: what has not left now is for whoever asked to see to, by telephone. */
function dispatched(outcome: DispatchOutcome): Final {
  const data = { queued: false };
  switch (outcome.kind) {
    case 'requested':
      return {
        outcome: 'done',
        data: { ...data, ...(outcome.dispatchId !== undefined && { dispatch_id: outcome.dispatchId }) },
      };
    case 'unknown':
      return { outcome: 'unconfirmed', error: { code: 'UNCONFIRMED' }, data };
    case 'offline':
      return { outcome: 'failed', error: { code: 'CLOUD_OFFLINE' }, data };
    case 'refused':
      return { outcome: 'failed', error: { code: 'NOT_ALLOWED', field: 'cloud' }, data };
  }
}
