import { createHttp } from '#cloud/client/index.ts';
import { systemClock } from '#lib/clock.ts';
import { version } from '#lib/version.ts';
import { type Context, type Found, noCloud, open, type Step } from './setup-types.ts';

/** Above this tokens are refused (the token client shows it above 10 s, and calls it a fault above 120 s). */
const worstClockS = 120;
const toldClockS = 10;
const deadlineMs = 15_000;

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
  const offsets: number[] = [];
  const http = createHttp({
    clock: systemClock(),
    bases: {},
    userAgent: `siteward/${version}`,
    onDate: ({ offsetMs }) => offsets.push(offsetMs / 1000),
  });
  const wrong: string[] = [];
  const origins = [
    ...new Set([cloud.base_url, cloud.auth_url, ...(cloud.ext_base_url === undefined ? [] : [cloud.ext_base_url])]),
  ];
  try {
    for (const url of origins) {
      const signal = AbortSignal.timeout(deadlineMs);
      const answer = await http.raw({ url, method: 'GET', headers: {}, signal, deadlineMs, repeatable: true });
      if (answer.kind === 'failure') wrong.push(`${url}: ${answer.message}`);
    }
  } finally {
    await http.close();
  }
  const worst = offsets.reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
  const apart = `the clock of this box is ${Math.abs(Math.round(worst))} s ${worst > 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(worst) > worstClockS) wrong.push(`${apart}; set it, best by NTP`);
  if (wrong.length > 0) return { isDone: false, words: wrong.join('; ') };
  const clock = Math.abs(worst) > toldClockS ? apart : 'the clock is right';
  return { isDone: true, words: `${origins.join(' and ')} ${origins.length > 1 ? 'answer' : 'answers'}; ${clock}` };
}
