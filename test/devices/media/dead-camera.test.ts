import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createFfmpeg } from '#devices/media/ffmpeg.ts';
import { createStills } from '#devices/media/stills.ts';
import { systemClock } from '#lib/clock.ts';
import { lendRtsp } from '#lib/rtsp-door.ts';
import { Secret } from '#lib/secret.ts';
import { startDeafHost } from '../../harness/deaf-host.ts';
import { harness } from '../onvif/harness.ts';

const login = { username: 'siteward', password: new Secret('s3cret-cam') };

async function deafHost(): Promise<string> {
  const { host, stop } = await startDeafHost();
  onTestFinished(stop);
  return host;
}

function expectNoSecret(message: string): void {
  for (const secret of ['siteward', 's3cret-cam']) expect(message).not.toContain(secret);
}

it('a camera that is gone is told so, with its address alone, before who asks for a picture has lost patience', async () => {
  const host = await deafHost();
  const { cameras } = harness([{ id: 'yard', url: `http://${host}/onvif/device_service`, ...login }]);
  onTestFinished(() => cameras.stop());
  const stills = createStills({
    ...{ pictures: cameras, clock: systemClock(), ffmpeg: createFfmpeg({ processes: 1 }) },
    streams: { read: cameras.readStream },
  });
  const failure = await stills.snapshot('yard', AbortSignal.timeout(10_000)).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'camera_unreachable' });
  const { message } = failure as Error;
  expect(message).toContain(`No connection to the camera at ${host} within 4 s`);
  expectNoSecret(message);
});

it('so is one whose stream is asked for', async () => {
  const host = await deafHost();
  const read = lendRtsp({ url: `rtsp://${host}/live`, ...login }, async (url) => {
    const reader = connect(Number(new URL(url).port), '127.0.0.1');
    reader.write(`OPTIONS ${url} RTSP/1.0\r\nCSeq: 1\r\n\r\n`);
    await once(reader.resume(), 'close');
    throw new Error('the door was shut');
  });
  const failure = await read.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'camera_unreachable' });
  const { message } = failure as Error;
  expect(message).toContain(`No stream from the camera at ${host}: no connection within 4 s`);
  expectNoSecret(message);
});
