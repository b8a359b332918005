import type { Profile, Reads, VideoSource } from './reads.ts';

/** One video source of a device, with what belongs to it. */
export interface Source {
  readonly token: string;
  /** From 1, in the device's own order. */
  readonly position: number;
  /** Of its first profile; empty where there is none. */
  readonly name: string;
  readonly resolution?: string;
  /** Tokens of its profiles, the main one first. */
  readonly profiles: readonly string[];
  /** Of the profile whose stream is read. */
  readonly stream?: string;
}

/** What a device has: its sources, and which of them each of its tokens means. */
export interface Topology {
  readonly sources: readonly Source[];
  /** The source a token means; a token that means several means none. */
  readonly configurations: Tokens;
  readonly analytics: Tokens;
  readonly profiles: Tokens;
  /** Profiles name sources under other tokens than the device does; they were matched by their order. */
  readonly byOrder: boolean;
  /** It told its sources itself; otherwise they are those its profiles name. */
  readonly listed: boolean;
}

export type Tokens = ReadonlyMap<string, string>;

/** Throws what `Reads` throws. Two requests. */
export async function readTopology(reads: Reads, signal: AbortSignal): Promise<Topology> {
  const sources = await reads.videoSources(signal);
  return topologyOf(sources, await reads.profiles(signal));
}

export function topologyOf(listed: readonly VideoSource[], profiles: readonly Profile[]): Topology {
  const named = [...new Set(profiles.flatMap(({ source }) => source ?? []))];
  const sources = listed.length > 0 ? listed : named.map((token): VideoSource => ({ token }));
  // Some firmware calls its sources otherwise in profiles than in the list of sources.
  const byOrder = named.length === sources.length && !named.some((name) => sources.some(({ token }) => token === name));
  const real = (name: string | undefined): string | undefined =>
    byOrder ? sources[named.indexOf(name ?? '')]?.token : name;
  const tokens = (key: 'token' | 'configuration' | 'analytics'): Tokens =>
    unambiguous(profiles.map((profile) => [profile[key], real(profile.source)]));
  return {
    sources: sources.map(({ token, resolution }, at) => {
      const own = profiles.filter(({ source }) => real(source) === token);
      const stream = streamProfile(own)?.token;
      return {
        token,
        position: at + 1,
        name: own[0]?.name ?? '',
        ...(resolution !== undefined && { resolution }),
        profiles: own.map((profile) => profile.token),
        ...(stream !== undefined && { stream }),
      };
    }),
    configurations: tokens('configuration'),
    analytics: tokens('analytics'),
    profiles: tokens('token'),
    byOrder,
    listed: listed.length > 0,
  };
}

/**
 * Of the profiles of one source, the main one first: the one whose stream is read. The second is smaller, and good enough to
 * see what happened. Pictures one after the other are no stream that a browser plays.
 */
export function streamProfile(profiles: readonly Profile[]): Profile | undefined {
  const [main] = profiles;
  const [first, second] = profiles.filter(({ source, encoding }) => source === main?.source && encoding !== 'JPEG');
  return second ?? first ?? main;
}

function unambiguous(pairs: readonly (readonly [string | undefined, string | undefined])[]): Tokens {
  const meant = new Map<string, string | undefined>();
  for (const [token, source] of pairs) {
    if (token === undefined || source === undefined) continue;
    meant.set(token, !meant.has(token) || meant.get(token) === source ? source : undefined);
  }
  return new Map([...meant].flatMap(([token, source]) => (source === undefined ? [] : [[token, source]])));
}
