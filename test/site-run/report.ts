import { flatness, gauges, highestRss, tableOf } from './flat.ts';
import type { Run } from './run.ts';

const countBy = <T>(items: readonly T[], name: (item: T) => string): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const item of items) counts[name(item)] = (counts[name(item)] ?? 0) + 1;
  return counts;
};

/** The figures of a run, for programs. */
export function figuresOf(run: Run) {
  const { history, evidence, verdict } = run;
  const { pictures } = verdict;
  const events = evidence.record.map(({ body }) => body.payload);
  return {
    ...{ seed: run.seed, broker: run.broker, seconds: run.seconds, without_disk: run.withoutDisk ?? null },
    deeds: history.deeds.length,
    by: countBy(history.deeds, ({ by }) => by),
    events: events.length,
    verified: history.answers.length,
    sent_again: evidence.record.filter(({ try_count }) => try_count > 1).length,
    alarms: events.filter(({ class: of, status }) => of === 'alarm' && status === 'active').length,
    disarmed: events.filter(({ kind }) => kind === 'disarmed').length,
    pictures: {
      announced: pictures.announced,
      arrived: pictures.arrived,
      excused: Object.fromEntries(pictures.excused),
    },
    faults: countBy(history.faults, ({ what }) => what),
    violations: verdict.violations,
    ...(run.samples.length > 0 && {
      watched: { ...flatness(run.samples, gauges, run.bounds), highest_rss: highestRss(run.samples) },
    }),
  };
}

const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

/** The same for people. */
export function summaryOf(run: Run): string {
  const { pictures, violations, watched, ...of } = figuresOf(run);
  const excused = Object.keys(pictures.excused).length === 0 ? '' : `; excused: ${listed(pictures.excused)}`;
  return [
    `seed ${of.seed}, ${of.broker}, ${of.seconds} s${of.without_disk === null ? '' : `, no full disk and no power cut: ${of.without_disk}`}`,
    `  done      ${of.deeds} deeds (${listed(of.by)})`,
    `  in cloud  ${of.events} events, ${of.sent_again} of them sent again; ${of.alarms} alarms, ${of.disarmed} times disarmed, ${of.verified} verified`,
    `  pictures  ${pictures.arrived} of ${pictures.announced}${excused}`,
    `  faults    ${listed(of.faults)}`,
    violations.length === 0
      ? '  verdict   nothing lost, doubled, invented, out of order or disarmed by nobody; every picture there or excused'
      : `  verdict   ${violations.length} things are wrong:`,
    ...violations.slice(0, 40).map(({ wrong, text }) => `            ${wrong}: ${text}`),
    ...(violations.length > 40 ? [`            and ${violations.length - 40} more`] : []),
    ...(watched === undefined
      ? []
      : [tableOf(watched), `  memory    at most ${watched.highest_rss.toFixed(0)} MiB of RSS`]),
  ].join('\n');
}
