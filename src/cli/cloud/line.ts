import { createHttp } from '#cloud/client/index.ts';
import type { Settings } from '#config/index.ts';
import { systemClock } from '#lib/clock.ts';
import { version } from '#lib/version.ts';

export type CloudAddresses = Pick<NonNullable<Settings['cloud']>, 'base_url' | 'auth_url' | 'ext_base_url'>;

const deadlineMs = 15_000;
/** For all origins of a cloud, one after the other. */
export const linePatienceMs = 3 * deadlineMs;
/** Above this tokens are refused, and above the lower one times of events are visibly wrong; seconds. */
export const worstClockS = 120;
export const toldClockS = 10;

/** The cloud's addresses without their paths, each once. */
export const originsOf = ({ base_url: base, auth_url: auth, ext_base_url: ext }: CloudAddresses): readonly string[] => [
  ...new Set([base, auth, ext ?? base].map((url) => new URL(url).origin)),
];

export interface CloudLine {
  /** `failure`: why nothing answers there. Whatever does answer is an answer. */
  readonly origins: readonly { readonly origin: string; readonly failure?: string }[];
  /** How far the clock of this box is from that of the cloud, seconds, plus where it is behind; undefined where nobody tells. */
  readonly clockS?: number;
}

/** Whether these addresses answer over TLS, and what their clocks say. Sends no credentials; throws only when aborted. */
export async function askLine(origins: readonly string[], signal: AbortSignal): Promise<CloudLine> {
  const offsets = new Map<string, number>();
  const http = createHttp({
    clock: systemClock(),
    bases: {},
    userAgent: `siteward/${version}`,
    onDate: ({ origin, offsetMs }) => offsets.set(origin, offsetMs / 1000),
  });
  try {
    const found: { origin: string; failure?: string }[] = [];
    for (const origin of origins) {
      const ask = { url: origin, method: 'GET', headers: {}, signal, deadlineMs, repeatable: true } as const;
      const answer = await http.raw(ask);
      found.push({ origin, ...(answer.kind === 'failure' && { failure: answer.message }) });
    }
    const clockS = [...offsets.values()].reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
    return { origins: found, ...(offsets.size > 0 && { clockS }) };
  } finally {
    await http.close();
  }
}

/** Such as `the clock of this box is 14 s behind`. */
export const clockApart = (offsetS: number): string =>
  `the clock of this box is ${Math.abs(Math.round(offsetS))} s ${offsetS > 0 ? 'behind' : 'ahead of'} the cloud`;
