import { SitewardError } from '#errors.ts';
import { type EventEntry, eventList } from '#lan/http/index.ts';
import { never, sleep } from '#lib/wait.ts';
import { advice } from './advice.ts';
import { answered, type Control } from './control.ts';
import { command } from './give.ts';
import { codeIn } from './setup-people.ts';
import { type Context, noCloud, open, type Step } from './setup-types.ts';

/** From the event to the answer of the cloud, with a line that works. */
const arrivesMs = 60_000;
const everyMs = 250;

/** A walk test that begins and ends: its event goes the way every other goes, and is seen to arrive. */
export const testStep: Step = {
  id: 'test',
  title: 'Test event to the cloud',
  needs: ['daemon', 'token'],
  later: 'siteward test p1, siteward events --class test, siteward test p1 --end',
  async isDone({ wasDone }) {
    const before = wasDone('test');
    return { isDone: before !== undefined, words: before ?? 'no test event was sent yet' };
  },
  async ask(context) {
    const without = noCloud(context);
    if (without !== undefined) return without;
    const [part] = context.site().settings.partitions;
    if (part === undefined) return open('the site has no partition');
    return {
      would: `begin and end a walk test of ${part.id}, and wait until the cloud has its event`,
      run: () => context.withDaemon((control) => send(context, control, part.id as `p${number}`)),
    };
  },
};

async function send(context: Context, control: Control, partition: `p${number}`): Promise<string> {
  const known = (await newest(control))?.seq ?? 0;
  const asked = { verb: 'test', partition, minutes: 1 } as const;
  const file = context.answers.test.code_file;
  let code = file === undefined ? undefined : await codeIn(file);
  let answer = await command(control, asked, code);
  if (answer.error?.code === 'CODE_REQUIRED' && code === undefined) {
    code = await context.talk.hidden('  code of a user');
    if (code === undefined || code === '')
      throw new SitewardError('request_invalid', 'the test needs a code: name its file as test.code_file');
    answer = await command(control, asked, code);
  }
  if (answer.error !== undefined)
    throw new SitewardError('control_refused', `the walk test was refused: ${advice(asked, answer)}`);
  try {
    const event = await arrival(control, { partition, after: known }, context);
    return `event ${event.seq} (${event.event.kind}) reached the cloud at ${event.delivered_at ?? ''}; its id there is ${event.event.event_id}`;
  } finally {
    await command(control, { verb: 'end_test', partition }, code).catch(() => undefined);
  }
}

const newest = async ({ client }: Control): Promise<EventEntry | undefined> =>
  (await page(client, { limit: 1 })).find(() => true);

async function page(
  client: Control['client'],
  query: { readonly limit: number; readonly class?: 'test' },
): Promise<readonly EventEntry[]> {
  const answer = answered(await client.listEvents({ query, signal: AbortSignal.timeout(10_000) }));
  return eventList.parse(answer.json).items;
}

/** The test's own event, once the cloud has accepted it. */
async function arrival(
  { client }: Control,
  { partition, after }: { readonly partition: string; readonly after: number },
  { talk }: Context,
): Promise<EventEntry> {
  const until = performance.now() + arrivesMs;
  let isTold = false;
  for (;;) {
    const found = (await page(client, { limit: 50, class: 'test' }))
      .filter(({ seq, event }) => seq > after && event.partition === partition)
      .at(-1);
    if (found !== undefined && !isTold) talk.say(`  event ${found.seq} is on its way`);
    isTold ||= found !== undefined;
    if (found?.delivery === 'delivered') return found;
    if (found?.delivery === 'parked')
      throw new SitewardError(
        'cloud_refused',
        `the cloud refused the event: ${found.reason ?? ''}; siteward outbox parked ${found.seq}`,
      );
    if (found?.delivery === 'local')
      throw new SitewardError(
        'control_refused',
        'the event stays on this box: the daemon has no cloud in its configuration',
      );
    if (performance.now() > until)
      throw new SitewardError(
        'deadline',
        `the event has not reached the cloud within ${arrivesMs / 1000} s; siteward outbox show says why`,
      );
    await sleep(everyMs, never());
  }
}
