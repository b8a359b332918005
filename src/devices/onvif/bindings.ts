import type { ChannelOptions } from './options.ts';
import type { Source } from './topology.ts';

/** What a channel was when it was bound; kept over restarts. */
export interface Identity {
  /** What the configuration said then; another word of it binds anew. */
  readonly selector: string;
  readonly token: string;
  readonly name: string;
  readonly resolution?: string;
}

/** One configured channel as it stands at the device. */
export interface Binding {
  readonly channel: string;
  /** bound: its events and pictures are this source's. gone: the device lists no such source. doubtful: it may be another's. */
  readonly state: 'bound' | 'gone' | 'doubtful';
  readonly source?: Source;
  readonly identity?: Identity;
  /** Why it is not bound, for people. */
  readonly reason?: string;
}

type Selected = Pick<ChannelOptions, 'id' | 'source' | 'position'>;

const selectorOf = ({ source, position }: Selected): string =>
  source === undefined ? `position ${position ?? 0}` : `source ${source}`;

/**
 * Binds one channel to a source. Never by order alone: a source is the one it was by its token, and a token whose picture
 * has another's name is not believed. `roster` is every source the device had before, by position.
 */
export function bind(
  channel: Selected,
  sources: readonly Source[],
  before: Identity | undefined,
  roster: readonly string[],
): Binding {
  const selector = selectorOf(channel);
  const known = before?.selector === selector ? before : undefined;
  if (known === undefined) return firstBound(channel, selector, sources);
  const same = sources.find(({ token }) => token === known.token);
  if (same !== undefined) {
    const reason = strange(same, known, sources, roster);
    return reason === undefined ? bound(channel, selector, same) : doubtful(channel, known, reason);
  }
  const fresh = sources.filter(({ token }) => !roster.includes(token));
  if (fresh.length === 0) return gone(channel, known, `the recorder lists no source ${known.token}`);
  const heir = channel.position === undefined ? undefined : sources[channel.position - 1];
  const follows =
    heir !== undefined && fresh.includes(heir) && sources.length === roster.length && looksLike(heir, known);
  if (follows) return bound(channel, selector, heir);
  const reason = `the recorder has given out its tokens anew: ${known.token} is gone, ${fresh
    .map(({ token }) => token)
    .join(', ')
    .slice(0, 200)} came`;
  return channel.position === undefined ? gone(channel, known, reason) : doubtful(channel, known, reason);
}

/** One picture is one channel: a second one that is named after the same source, by place and by token, is in doubt. */
export function apart(bindings: readonly Binding[]): readonly Binding[] {
  return bindings.map(({ source, ...rest }, at) => {
    const first = source && bindings.slice(0, at).find((other) => other.source?.token === source.token);
    if (first !== undefined)
      return { ...rest, state: 'doubtful', reason: `it is the same source as channel ${first.channel}` };
    return { ...rest, ...(source !== undefined && { source }) };
  });
}

function firstBound(channel: Selected, selector: string, sources: readonly Source[]): Binding {
  const found =
    channel.source === undefined
      ? sources[(channel.position ?? 0) - 1]
      : sources.find(({ token }) => token === channel.source);
  if (found !== undefined) return bound(channel, selector, found);
  const tokens = sources.map(({ token }) => token).join(', ');
  return gone(
    channel,
    undefined,
    `the recorder has no ${selector}, only ${tokens === '' ? 'none' : tokens.slice(0, 200)}`,
  );
}

/** Why a source of the same token may be another picture than before. */
function strange(
  source: Source,
  known: Identity,
  all: readonly Source[],
  roster: readonly string[],
): string | undefined {
  if (source.name === known.name) {
    const hasGrown = all.length !== roster.length && all.some(({ token }) => !roster.includes(token));
    const tellsNothing = all.some((other) => other.token !== source.token && other.name === known.name);
    const isOther = hasGrown && tellsNothing && source.resolution !== known.resolution;
    return isOther
      ? `the recorder has other sources than before, and ${source.token} has another resolution`
      : undefined;
  }
  const moved =
    known.name === '' ? undefined : all.find((other) => other.token !== source.token && other.name === known.name);
  if (moved === undefined) return undefined;
  return `what was ${known.token} ("${known.name}") now seems to be ${moved.token}`;
}

const looksLike = (source: Source, known: Identity): boolean =>
  source.name === known.name && source.resolution === known.resolution;

const bound = ({ id }: Selected, selector: string, source: Source): Binding => ({
  channel: id,
  state: 'bound',
  source,
  identity: {
    selector,
    token: source.token,
    name: source.name,
    ...(source.resolution !== undefined && { resolution: source.resolution }),
  },
});

const gone = ({ id }: Selected, identity: Identity | undefined, reason: string): Binding => ({
  channel: id,
  state: 'gone',
  ...(identity !== undefined && { identity }),
  reason,
});

const doubtful = ({ id }: Selected, identity: Identity, reason: string): Binding => ({
  channel: id,
  state: 'doubtful',
  identity,
  reason,
});

/** Every source there was, by position: the device's own order, as long as it lists them all; one that is away keeps its place. */
export function nextRoster(before: readonly string[], sources: readonly Source[]): readonly string[] {
  const now = sources.map(({ token }) => token);
  const onlyOld = now.every((token) => before.includes(token));
  return onlyOld && before.length > 0 ? before : now;
}
