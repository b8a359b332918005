import { describe, SitewardError } from '#errors.ts';
import { droppedAnswer, maxSeqs, retriedAnswer } from '#lan/http/index.ts';
import { agreed } from '../consent.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { allParked } from './pages.ts';

/** Which parked events: their numbers, or all there are when the command begins. */
export interface Chosen {
  readonly seqs: readonly number[];
  readonly all: boolean;
  readonly socket: string;
}

/** `siteward outbox retry`. */
export async function retry(options: Chosen & { json: boolean }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const retried = await inSteps(await chosen(control, options), async (seqs) => {
    const { json } = answered(await control.client.retryParked({ body: { seqs }, signal: patience() }));
    return retriedAnswer.parse(json).retried;
  });
  console.log(options.json ? JSON.stringify({ retried }) : `${events(retried)} back in line`);
  return exitCodes.ok;
}

/** `siteward outbox drop`. Without `--yes` it asks on a terminal. */
export async function drop(options: Chosen & { json: boolean; yes: boolean }): Promise<ExitCode | 'nobody to ask'> {
  await using control = openControl(options.socket);
  const seqs = await chosen(control, options);
  if (!options.yes && seqs.length > 0) {
    await mustBeParked(control, options.all ? [] : seqs);
    const them = seqs.length === 1 ? 'it' : 'them';
    const answer = await agreed(`Give ${events(seqs.length)} up for good? The cloud will never have ${them}.`);
    if (answer === 'nobody to ask') return answer;
    if (answer === 'no') {
      console.error('siteward: nothing was dropped');
      return exitCodes.failure;
    }
  }
  const dropped = await inSteps(seqs, async (some) => {
    const { json } = answered(await control.client.dropParked({ body: { seqs: some }, signal: patience() }));
    return droppedAnswer.parse(json).dropped;
  });
  console.log(options.json ? JSON.stringify({ dropped }) : `${events(dropped)} dropped, each kept as a gap record`);
  return exitCodes.ok;
}

/** Before anybody is asked or shown anything: all of them are there. Throws `not_parked`. */
export async function mustBeParked(control: Control, seqs: readonly number[]): Promise<void> {
  for (const seq of seqs)
    answered(await control.client.getParked({ params: { seq: String(seq) }, signal: patience() }));
}

export const chosen = (control: Control, { all, seqs }: Chosen): Promise<readonly number[]> =>
  all ? allParked(control) : Promise.resolve([...new Set(seqs)]);

export const events = (count: number): string => `${count} ${count === 1 ? 'event' : 'events'}`;

/** As many at a time as one request takes. A failure says how far it came. */
async function inSteps(seqs: readonly number[], step: (seqs: number[]) => Promise<number>): Promise<number> {
  let count = 0;
  for (let from = 0; from < seqs.length; from += maxSeqs) {
    try {
      count += await step(seqs.slice(from, from + maxSeqs));
    } catch (error) {
      if (count === 0 || !(error instanceof SitewardError)) throw error;
      throw new SitewardError(error.code, `${events(count)} done; then ${describe(error)}`, { facts: error.facts });
    }
  }
  return count;
}
