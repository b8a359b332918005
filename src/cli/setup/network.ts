import { never } from '#lib/wait.ts';
import { askLine, clockApart, originsOf, toldClockS, worstClockS } from '../cloud/line.ts';
import { type Context, type Found, noCloud, open, type Step } from './types.ts';

/** Whether the service can be reached from here, and whether both clocks agree. Sends no credentials. */
export const networkStep: Step = {
  id: 'network',
  title: 'Network and clock',
  needs: ['key'],
  later: 'siteward outbox show tells how the line is; set the clock by NTP (timedatectl)',
  isDone: look,
  ask: async (context) => noCloud(context) ?? open(`${(await look(context)).words}; mend it and run this again`),
};

async function look(context: Context): Promise<Found> {
  const { cloud } = context.site().settings;
  if (cloud === undefined) return { isDone: false, words: 'the configuration has no cloud yet' };
  const { origins, clockS = 0 } = await askLine(originsOf(cloud), never());
  const wrong = origins.flatMap(({ origin, failure }) => (failure === undefined ? [] : [`${origin}: ${failure}`]));
  if (Math.abs(clockS) > worstClockS) wrong.push(`${clockApart(clockS)}; set it, best by NTP`);
  if (wrong.length > 0) return { isDone: false, words: wrong.join('; ') };
  const clock = Math.abs(clockS) > toldClockS ? clockApart(clockS) : 'the clock is right';
  const all = origins.map(({ origin }) => origin).join(' and ');
  return { isDone: true, words: `${all} ${origins.length > 1 ? 'answer' : 'answers'}; ${clock}` };
}
