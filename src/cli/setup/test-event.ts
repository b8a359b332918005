import { sitePlan } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { type EventEntry, eventList } from '#lan/http/index.ts';
import { never, sleep } from '#lib/wait.ts';
import type { PartitionPlan } from '#site/model/index.ts';
import { advice } from '../advice.ts';
import { answered, type Control } from '../control.ts';
import { command } from '../give.ts';
import { codeIn, usersOf } from './people.ts';
import { type Context, type NotNow, noCloud, open, type Plan, type Step, skipped } from './types.ts';

/** From the event to the answer of the cloud, with a line that works. */
const arrivesMs = 60_000;
const everyMs = 250;
/** For a person on the way to the panel and back. */
const panelMs = 300_000;

/** A walk test that begins and ends: its event goes the way every other goes, and is seen to arrive. */
export const testStep: Step = {
  id: 'test',
  title: 'Test event to the cloud',
  needs: ['daemon', 'token'],
  later:
    'siteward test p1, siteward events --class test, siteward test p1 --end; where a panel decides arm and disarm there, then siteward events --class arming',
  async isDone({ wasDone }) {
    const before = wasDone('test');
    return { isDone: before !== undefined, words: before ?? 'no test event was sent yet' };
  },
  async ask(context) {
    const without = noCloud(context);
    if (without !== undefined) return without;
    const { partitions } = sitePlan(context.site().settings);
    if (partitions.length === 0) return open('the site has no partition');
    const part = partitions.find(({ authority }) => authority === 'engine');
    if (part === undefined) return ofOthers(context, partitions);
    return {
      would: `begin and end a walk test of ${part.id}, and wait until the cloud has its event`,
      run: () => context.withDaemon((control) => send(context, control, part.id as `p${number}`)),
    };
  },
};

/** siteward begins a walk test where it decides itself; elsewhere an arming at the panel shows the way. */
function ofOthers(context: Context, partitions: readonly PartitionPlan[]): Plan | NotNow {
  const panels = [...new Set(partitions.flatMap(({ panel }) => panel ?? []))];
  const who = `${panels.length === 0 ? 'another system decides' : `the panel ${panels.join(', ')} decides`} the partitions, and siteward cannot begin a walk test there`;
  const how = 'arm and disarm at the panel';
  if (!context.talk.isThere)
    return skipped(`${who}: ${how}; siteward events shows the event and when the cloud had it`);
  context.talk.say(`  ${who}.`);
  return {
    would: `wait ${panelMs / 1000} s until the cloud has an event of it: ${how} meanwhile`,
    run: () =>
      context.withDaemon(async (control) => {
        const known = (await newest(control))?.seq ?? 0;
        context.talk.say(`  now ${how}`);
        const isIt = ({ event, delivery }: EventEntry) =>
          delivery !== 'local' && partitions.some(({ id }) => id === event.partition);
        // No other class: what is kept and reported tells of no silent alarm (safety 4).
        return toldOf(await arrival(control, { isIt, after: known, ms: panelMs, class: 'arming' }, context));
      }),
  };
}

const toldOf = ({ seq, event, delivered_at: at = '' }: EventEntry): string =>
  `event ${seq} (${event.kind}) reached the cloud at ${at}; its id there is ${event.event_id}`;

async function send(context: Context, control: Control, partition: `p${number}`): Promise<string> {
  const known = (await newest(control))?.seq ?? 0;
  const asked = { verb: 'test', partition, minutes: 1 } as const;
  const file = context.answers.test.code_file;
  let code = file === undefined ? undefined : await codeIn(file);
  let answer = await command(control, asked, code);
  if (answer.error?.code === 'CODE_REQUIRED' && code === undefined) {
    if ((await usersOf(context)).length === 0)
      throw new SitewardError(
        'request_invalid',
        'the test needs the code of a user, and there is none yet: do the step users first',
      );
    code = await context.talk.hidden('  code of a user');
    if (code === undefined || code === '')
      throw new SitewardError('request_invalid', 'the test needs a code: name its file as test.code_file');
    answer = await command(control, asked, code);
  }
  if (answer.error !== undefined)
    throw new SitewardError('control_refused', `the walk test was refused: ${advice(asked, answer)}`);
  try {
    const isIt = ({ event }: EventEntry) => event.partition === partition;
    return toldOf(await arrival(control, { isIt, after: known, ms: arrivesMs, class: 'test' }, context));
  } finally {
    await command(control, { verb: 'end_test', partition }, code).catch(() => undefined);
  }
}

const newest = async ({ client }: Control): Promise<EventEntry | undefined> =>
  (await page(client, { limit: 1 })).find(() => true);

async function page(
  client: Control['client'],
  query: { readonly limit: number; readonly class?: 'test' | 'arming' },
): Promise<readonly EventEntry[]> {
  const answer = answered(await client.listEvents({ query, signal: AbortSignal.timeout(10_000) }));
  return eventList.parse(answer.json).items;
}

/** The newest event that it is, once the cloud has accepted it. */
async function arrival(
  { client }: Control,
  wanted: {
    readonly isIt: (entry: EventEntry) => boolean;
    readonly after: number;
    readonly ms: number;
    readonly class: 'test' | 'arming';
  },
  { talk }: Context,
): Promise<EventEntry> {
  const { isIt, after, ms, class: ofClass } = wanted;
  const until = performance.now() + ms;
  let isTold = false;
  for (;;) {
    const found = (await page(client, { limit: 50, class: ofClass }))
      .filter((entry) => entry.seq > after && isIt(entry))
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
        found === undefined
          ? `no event came within ${ms / 1000} s; siteward status shows whether the panel is heard`
          : `the event has not reached the cloud within ${ms / 1000} s; siteward outbox show says why`,
      );
    await sleep(everyMs, never());
  }
}
