import { type CameraMessage, cameraMessages } from '#lan/http/index.ts';
import { never, sleep } from '#lib/wait.ts';
import { answered, openControl } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable } from '../table.ts';

const everyMs = 1000;

/**
 * `siteward camera events ID`: the last messages of a camera, then what comes, through the daemon: it asks the camera for
 * nothing itself, so that one with a single place for events keeps it.
 */
export async function events(id: string, options: { forMs: number; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const until = performance.now() + options.forMs;
  if (!options.json)
    console.error(
      options.forMs === 0
        ? `siteward: what ${id} said last`
        : `siteward: what ${id} says, for ${Math.round(options.forMs / 1000)} s`,
    );
  for (let after = 0; ; ) {
    const signal = AbortSignal.timeout(10_000);
    const answer = answered(await control.client.cameraEvents({ params: { id }, query: { after }, signal }));
    const { items, last } = cameraMessages.parse(answer.json);
    for (const item of items) console.log(options.json ? JSON.stringify(item) : said(item));
    after = last;
    const leftMs = until - performance.now();
    if (leftMs <= 0) return exitCodes.ok;
    await sleep(Math.min(everyMs, leftMs), never());
  }
}

function said({ at, topic, operation, items, outcome, signals, device_time: deviceTime }: CameraMessage): string {
  const meaning = signals.map(
    ({ device, detection, state, replay }) => `${device}: ${detection} ${state}${replay ? ' (state)' : ''}`,
  );
  const made = meaning.length > 0 ? meaning.join(', ') : (outcomes[outcome] ?? outcome);
  const time = deviceTime === undefined ? '' : `, its clock ${deviceTime}`;
  return printable(`${at}  ${topic}${operation === undefined ? '' : ` ${operation}`}  ${items}  => ${made}${time}`);
}

/** What became of a message that changed nothing. */
const outcomes: Readonly<Record<string, string>> = {
  same: 'nothing new',
  ignored: 'ignored, as it says nothing about the site',
  unknown: 'not known; "topics:" in the configuration can say what it means',
  empty: 'empty',
  unreadable: 'not understood: a value that its topic needs is missing',
  flood: 'left out, too many at once',
};
