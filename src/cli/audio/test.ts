import { SitewardError } from '#errors.ts';
import { speakerList } from '#lan/http/index.ts';
import type { SpeakerShown } from '#site/model/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { untilStopped } from '../until-stopped.ts';
import { linesOf, playAndWait } from './play.ts';
import { adviceOf } from './words.ts';

const testTone = 'test.tone1k';

/** `siteward audio test`: one after the other, so that whoever walks along hears each. Ends with 1 where one failed. */
export async function test(
  asked: readonly string[],
  options: { volume: number; json: boolean; socket: string },
): Promise<ExitCode> {
  const { volume, json } = options;
  using stopped = untilStopped();
  const { signal } = stopped;
  await using control = openControl(options.socket);
  let failed = false;
  for (const id of chosen(await speakersOf(control), asked)) {
    const wish = { audio_message_id: testTone, volume, repeat: 1, target_devices: [id] };
    const { devices } = await playAndWait(control, wish, { signal, wait: true });
    for (const device of devices) {
      failed ||= device.status !== 'completed';
      const advice = adviceOf(device);
      const detail = device.status === 'failed' ? await foundBy(control, id) : undefined;
      const more = { ...(detail !== undefined && { detail }), ...(advice !== undefined && { advice }) };
      console.log(json ? JSON.stringify({ ...device, ...more }) : linesOf(device, detail));
    }
    if (signal.aborted) return exitCodes.failure;
  }
  return failed ? exitCodes.failure : exitCodes.ok;
}

async function speakersOf({ client }: Control): Promise<readonly SpeakerShown[]> {
  return speakerList.parse(answered(await client.listSpeakers({ signal: patience() })).json).items;
}

/** What is wrong with one that does not answer. */
async function foundBy(control: Control, id: string): Promise<string | undefined> {
  const speaker = (await speakersOf(control)).find(({ device_id }) => device_id === id);
  return speaker?.up === false ? speaker.detail : undefined;
}

/** Nothing sounds before all that were named are known. */
function chosen(speakers: readonly SpeakerShown[], asked: readonly string[]): readonly string[] {
  const used = speakers.filter(({ enabled }) => enabled).map(({ device_id }) => device_id as string);
  if (asked.length === 0) {
    if (used.length > 0) return used;
    throw new SitewardError('audio_refused', 'the site has no speaker that is enabled');
  }
  for (const id of asked)
    if (!used.includes(id))
      throw new SitewardError(
        'audio_unknown',
        speakers.some(({ device_id }) => device_id === id)
          ? `speaker ${id} is not used: its configuration says enabled: false`
          : `there is no speaker ${id}`,
      );
  return [...new Set(asked)];
}
