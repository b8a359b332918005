import type { SitewardError } from '#errors.ts';
import { readJpeg } from '#lib/jpeg.ts';
import { shownAddress } from '../address.ts';
import { createLogin } from '../login.ts';
import { createPictureClient } from '../picture-client.ts';
import { cameraPlace } from '../picture-places.ts';
import { createPictures } from '../pictures.ts';
import type { Profile } from '../reads.ts';
import { topologyOf } from '../topology.ts';
import { pictureAdvice } from './advice.ts';
import type { Examination } from './examine.ts';
import { failed, orNothing } from './step.ts';

const maxStreams = 16;

/** Channels, streams without credentials, and one picture. Throws only the signal's reason. */
export async function examineMedia(
  examination: Examination,
  profiles: readonly Profile[] | SitewardError,
): Promise<void> {
  const { tell } = examination;
  if (!Array.isArray(profiles)) {
    tell(
      failed('channels', profiles, [
        'Without media profiles there is no picture. Update the firmware, or reset the camera.',
      ]),
    );
    return;
  }
  await tellChannels(examination, profiles);
  await tellStreams(examination, profiles);
  await tellPicture(examination);
}

async function tellChannels({ reads, tell, signal }: Examination, profiles: readonly Profile[]): Promise<void> {
  const listed = (await reads.videoSources(signal).catch(orNothing(signal))) ?? [];
  const { sources } = topologyOf(listed, profiles);
  const several = sources.length > 1;
  const named =
    sources.length === 0 ? 'it does not list its video sources' : `${sources.length} video source${several ? 's' : ''}`;
  tell({
    name: 'channels',
    result: profiles.length === 0 ? 'failed' : 'ok',
    text: `${named}, ${profiles.length} profile${profiles.length === 1 ? '' : 's'}`,
    more: [
      ...sources.map(({ position, token, resolution, profiles: own }) =>
        [`source ${position}: ${token}`, resolution, ...(own.length > 0 ? [`profiles ${own.join(' ')}`] : [])]
          .filter((text) => text !== undefined)
          .join(', '),
      ),
      ...(profiles.length > 0
        ? [`profiles: ${profiles.map(({ token, name }) => `${token} (${name})`).join(', ')}`]
        : []),
    ],
    facts: {
      sources: sources.map(({ token, position, resolution, profiles: own }) => ({
        token,
        position,
        resolution: resolution ?? null,
        profiles: own,
      })),
      profiles: profiles.map(({ token, name }) => ({ token, name })),
    },
    ...(several && {
      advice: ['It is a recorder: configure it under nvrs:, one channel for each source that is watched.'],
    }),
    ...(profiles.length === 0 && {
      advice: ['Without a profile there is no picture: make one in the camera, or reset it.'],
    }),
  });
}

async function tellStreams({ reads, tell, signal }: Examination, profiles: readonly Profile[]): Promise<void> {
  const streams: { profile: string; url: string }[] = [];
  for (const { token } of profiles.slice(0, maxStreams)) {
    const address = await reads.streamAddress(token, signal).catch(orNothing(signal));
    if (address !== undefined) streams.push({ profile: token, url: shownAddress(address) });
  }
  if (profiles.length === 0) return;
  tell({
    name: 'streams',
    result: streams.length > 0 ? 'ok' : 'warning',
    text:
      streams.length > 0
        ? `${streams.length} stream address${streams.length === 1 ? '' : 'es'}, not opened`
        : 'it tells no stream',
    more: streams.map(({ profile, url }) => `${profile}: ${url}`),
    facts: { streams },
  });
}

async function tellPicture({ camera, reads, mode, device, clock, tell, signal }: Examination): Promise<void> {
  const pictures = createPictures({
    device: camera,
    client: createPictureClient({ device: camera, login: createLogin(camera, reads), clock }),
    place: cameraPlace({ device: camera, reads, addresses: mode }),
    configured: device.snapshotUrl,
  });
  try {
    const { bytes } = await pictures.take(signal);
    const jpeg = readJpeg(bytes);
    const [width, height] = typeof jpeg === 'string' ? [0, 0] : [jpeg.width, jpeg.height];
    tell({
      name: 'picture',
      result: 'ok',
      text: `a picture of ${width}x${height}, ${Math.ceil(bytes.length / 1024)} KiB`,
      facts: { width, height, bytes: bytes.length },
    });
  } catch (error) {
    signal.throwIfAborted();
    tell(failed('picture', error, pictureAdvice));
  } finally {
    pictures.close();
  }
}
