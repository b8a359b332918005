import type { SoundFormat } from '../driver.ts';
import { SpeakerError } from '../driver.ts';

/** The track of a device which takes sound. */
export interface Backchannel {
  readonly url: string;
  /** Of RTP. */
  readonly payload: number;
  readonly format: SoundFormat;
}

const codecs: Readonly<Record<string, SoundFormat['encoding']>> = { PCMU: 'ulaw', PCMA: 'alaw' };
/** Whose codec RFC 3551 fixes, so that it need not be said. */
const fixed: Readonly<Record<string, string>> = { '0': 'PCMU/8000', '8': 'PCMA/8000' };
const mediaCap = 32;

/**
 * The track to send to: audio that is `sendonly` (ONVIF streaming, 5.3: named from the side of who sends), in the first codec of it that
 * siteward makes. Throws `unsupported` or `format`.
 */
export function findBackchannel(sdp: string, base: string): Backchannel {
  const sections = sdp
    .split(/^m=/m)
    .slice(1, 1 + mediaCap)
    .map((section) => section.split(/\r\n|\r|\n/));
  const tracks = sections.filter(
    ([first = '', ...lines]) => first.startsWith('audio ') && lines.some((line) => line.trim() === 'a=sendonly'),
  );
  if (tracks.length === 0) throw new SpeakerError('unsupported', 'the device has no track that takes sound');
  for (const [first = '', ...lines] of tracks) {
    for (const payload of first.trim().split(/\s+/).slice(3)) {
      const map = lines
        .map((line) => /^a=rtpmap:(\d+)\s+(\S+)/.exec(line.trim()))
        .find((found) => found?.[1] === payload);
      const [name = '', rate = '', channels = '1'] = (map?.[2] ?? fixed[payload] ?? '').split('/');
      const encoding = codecs[name.toUpperCase()];
      const isOurs = rate === '8000' && channels === '1' && Number(payload) < 128;
      if (encoding === undefined || !isOurs) continue;
      return { url: controlOf(lines, base), payload: Number(payload), format: { encoding, rate: 8000, channels: 1 } };
    }
  }
  const named = tracks.flatMap((lines) =>
    lines.flatMap((line) => /^a=rtpmap:\d+\s+([\w./-]{1,40})/.exec(line)?.[1] ?? []),
  );
  throw new SpeakerError(
    'format',
    `the device takes no G.711${named.length > 0 ? `, but ${named.slice(0, 8).join(', ')}` : ''}`,
  );
}

/** Relative to `base`, as readers make it: a query of the address stays where it is. */
function controlOf(lines: readonly string[], base: string): string {
  const control =
    lines
      .find((line) => line.startsWith('a=control:'))
      ?.slice('a=control:'.length)
      .trim() ?? '*';
  const url = isRtspUrl(control) ? control : control === '*' ? base : `${base.replace(/\/?$/, '/')}${control}`;
  if (!isRtspUrl(url)) throw new SpeakerError('device_error', 'the device names no address of its track');
  return url;
}

/** One that fits into a request, and carries no password. */
export const isRtspUrl = (text: string): boolean =>
  /^rtsps?:\/\/[^\s@/]+(\/[!-~]*)?$/i.test(text) && text.length <= 1024;
