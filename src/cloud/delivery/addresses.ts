import { type MediaKind, mediaKinds } from '#cloud/contract/index.ts';

/** Where one announced picture or clip is to be put. Lives in memory only. */
export interface Address {
  readonly kind: MediaKind;
  readonly url: string;
  readonly method: 'PUT' | 'POST';
  /** How long it is good from the moment of the answer, milliseconds. */
  readonly lifeMs: number;
}

/** Addresses without an expiry are trusted for so long. */
const defaultLifeMs = 10 * 60_000;
const longestLifeMs = 24 * 3_600_000;
/** Bounds of the search in an answer nobody described. */
const maxDepth = 6;
const maxNodes = 2_000;
const maxAddresses = 64;

/**
 * Finds upload addresses in the answer to an event, in the order of their index within each kind. The documented shape
 * (S-164) is one case of what is understood: any web address under a key that speaks of uploads counts.
 * `serverWallMs` is the server's time of the answer, against which expiries are measured.
 */
export function readAddresses(json: unknown, serverWallMs: number): Address[] {
  const found: (Address & { index: number })[] = [];
  let nodes = 0;
  const visit = (value: unknown, path: string, around: Context, depth: number): void => {
    nodes += 1;
    if (nodes > maxNodes || depth > maxDepth || found.length >= maxAddresses) return;
    if (typeof value === 'string') {
      if (isWebAddress(value) && speaksOfUploads(path)) found.push(addressOf(value, path, around, found.length));
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const inner = Array.isArray(value) ? around : contextOf(value as Record<string, unknown>, around, serverWallMs);
    for (const [key, member] of Object.entries(value)) {
      visit(member, Array.isArray(value) ? path : `${path}.${key.toLowerCase()}`, inner, depth + 1);
    }
  };
  visit(json, '', {}, 0);
  return found.sort((a, b) => a.index - b.index);
}

/** What the object around an address says about it. */
interface Context {
  readonly kind?: MediaKind;
  readonly index?: number;
  readonly method?: 'PUT' | 'POST';
  readonly lifeMs?: number;
}

function contextOf(object: Readonly<Record<string, unknown>>, outer: Context, serverWallMs: number): Context {
  const named = object.kind ?? object.type ?? object.media_type;
  const kind = typeof named === 'string' ? kindOf(named.toLowerCase()) : undefined;
  const lifeMs = lifeOf(object, serverWallMs);
  const method = typeof object.method === 'string' ? object.method.toUpperCase() : undefined;
  return {
    ...outer,
    ...(kind === undefined ? {} : { kind }),
    ...(typeof object.index === 'number' ? { index: object.index } : {}),
    ...(method === 'PUT' || method === 'POST' ? { method } : {}),
    ...(lifeMs === undefined ? {} : { lifeMs }),
  };
}

function addressOf(url: string, path: string, around: Context, order: number): Address & { index: number } {
  return {
    kind: around.kind ?? kindOf(path) ?? 'snapshot',
    url,
    method: around.method ?? 'PUT',
    lifeMs: around.lifeMs ?? defaultLifeMs,
    index: around.index ?? order,
  };
}

/** "event" alone says nothing: every answer speaks of its event. */
function kindOf(text: string): MediaKind | undefined {
  const exact = mediaKinds.find((kind) => kind === text);
  if (exact !== undefined) return exact;
  if (text.includes('short')) return 'short_mp4';
  if (/snapshot|image|picture|photo|jpe?g/.test(text)) return 'snapshot';
  return /mp4|clip|video/.test(text) ? 'event_mp4' : undefined;
}

const speaksOfUploads = (path: string): boolean =>
  /upload|url|uri|href|address|link|snapshot|image|picture|photo|jpe?g|mp4|clip|video/.test(path);

const isWebAddress = (text: string): boolean => /^https?:\/\//i.test(text) && text.length <= 8192 && URL.canParse(text);

function lifeOf(object: Readonly<Record<string, unknown>>, serverWallMs: number): number | undefined {
  const seconds = Number(object.expires_in ?? object.ttl ?? Number.NaN);
  const life = Number.isFinite(seconds) ? seconds * 1000 : untilOf(object) - serverWallMs;
  if (!Number.isFinite(life)) return undefined;
  return Math.min(longestLifeMs, Math.max(0, life));
}

/** Times as ISO text, or as a number of seconds or milliseconds since 1970. */
function untilOf(object: Readonly<Record<string, unknown>>): number {
  const value = object.expires_at ?? object.expires ?? object.expiration ?? object.expiry;
  if (typeof value === 'string') return Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(value) ? value : `${value}Z`);
  if (typeof value !== 'number') return Number.NaN;
  return value > 1e11 ? value : value * 1000;
}
