import { withBundle } from './bundle.ts';
import type { Measurement } from './figure.ts';
import { alarms, cameras, pictureFigures, pictureMs, rounds } from './media-pictures.ts';
import { kbps, preRollS, ringFigures, watchMs } from './media-rings.ts';

/** From an alarm to its picture in the cloud, and what rings cost. */
export const media: Measurement = {
  name: 'media',
  title: `Pictures of ${cameras} cameras, and their rings`,
  about: `The daemon from the bundle, the sandbox cloud, ${cameras} simulated cameras (all in one other process) and the sender are processes on loopback.
Pictures: each camera takes ${pictureMs} ms for one. ${alarms} fire alarms, each with a picture of one camera, two a second; then ${rounds} alarms with a
picture of each of the ${cameras}. The clock runs from just before the detector's message to the time stamp of the sandbox when it has the whole
picture. The ratio is to a bare client that only gets a picture of the same camera, in the same run.
Rings: one GStreamer server streams ${kbps / 1000} Mbit/s with 25 pictures and a key frame a second; ${cameras} cameras with \`pre_roll: ${preRollS}s\` and
\`pictures: always\` are recorded from it. Beside it, each for ${watchMs / 1000} s, the same daemon without \`pre_roll\`, and ${cameras} bare ffmpeg that read the same
stream and keep nothing. The server counts nowhere. Memory of ffmpeg is without what its processes share; the ratio is to bare ffmpeg.`,
  async run(tell) {
    return withBundle(async (program) => [
      ...(await pictureFigures(program, tell)),
      ...(await ringFigures(program, tell)),
    ]);
  },
};
