import { playbackList } from '#lan/http/index.ts';
import type { AudioCategory, DeviceId, PlaybackShown } from '#site/model/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable } from '../table.ts';
import { follow } from './follow.ts';
import { hasEnded } from './words.ts';

export interface StopOptions {
  readonly playback?: string;
  readonly speaker?: DeviceId;
  readonly category?: AudioCategory;
  readonly all: boolean;
  readonly alarms: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward audio stop`: returns once it is silent, and says what goes on. */
export async function stop(options: StopOptions): Promise<ExitCode> {
  const { playback, speaker, category, all, alarms, json } = options;
  await using control = openControl(options.socket);
  const { client } = control;
  const body = {
    alarms,
    ...(playback !== undefined && { playback }),
    ...(speaker !== undefined && { speaker }),
    ...(category !== undefined && { category }),
    ...(all && ({ all } as { all: true })),
  };
  const meant = playbackList.parse(answered(await client.cancelPlaybacks({ body, signal: patience() })).json).items;
  for (const one of meant) {
    const ended = await follow(control, one, { signal: patience(), ...(speaker !== undefined && { only: speaker }) });
    console.log(json ? JSON.stringify(ended) : sentence(ended, speaker));
  }
  const spared = playback === undefined ? await sounding(control, options) : [];
  if (meant.length === 0 && spared.length === 0 && !json) console.log('nothing was playing');
  for (const one of spared) console.error(`siteward: ${lineOf(one)} goes on: say --alarms to end it, too`);
  return exitCodes.ok;
}

/** What a cancel by speaker or for all has spared. */
async function sounding(
  { client }: Control,
  { speaker, category, alarms }: StopOptions,
): Promise<readonly PlaybackShown[]> {
  if (alarms || category !== undefined) return [];
  const { json } = answered(await client.listPlaybacks({ query: { limit: 200 }, signal: patience() }));
  return playbackList
    .parse(json)
    .items.filter(({ devices }) =>
      devices.some((device) => !hasEnded(device) && (speaker === undefined || device.device_id === speaker)),
    )
    .filter(({ category: of }) => of === 'alarm');
}

const lineOf = ({ playback_id, name }: PlaybackShown): string => `${printable(name)} (${playback_id})`;

function sentence(playback: PlaybackShown, speaker: string | undefined): string {
  const device = playback.devices.find(({ device_id }) => device_id === speaker);
  const { status } = device ?? playback;
  const where = device === undefined ? '' : ` on ${device.device_id}`;
  return `${lineOf(playback)}${where}: ${status}`;
}
