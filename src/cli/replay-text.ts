import type { DecisionMark, Input } from '#site/core/index.ts';
import { type Command, isoTime, type Signal, type Stamp } from '#site/model/index.ts';
import type { ReplayItem, Skipped } from '#site/replay.ts';
import { ruleText } from './rule-words.ts';
import { printableLine } from './table.ts';

type Standings = Readonly<Record<string, string>>;

/** One item for people; what came of it stands below what went in. */
export function replayLines(item: ReplayItem): readonly string[] {
  return lines(item).map(printableLine);
}

function lines(item: ReplayItem): readonly string[] {
  switch (item.kind) {
    case 'state':
      return [
        `${time(item.at)}  ${saysWhy[item.why]}, siteward ${item.version}: ${standing(item.partitions)}`,
        ...(item.differs === undefined ? [] : [`    THIS VERSION HAD COME TO ${standing(item.differs)}`]),
      ];
    case 'decision':
      return decisionLines(item);
    case 'skipped':
      return [`(${skippedText(item)})`];
    case 'failed':
      return [`${time(item.at)}  THIS VERSION CANNOT DECIDE IT: ${item.reason}`];
  }
}

const saysWhy = {
  start: 'siteward starts',
  plan: 'a new plan counts',
  between: 'the state in between',
} as const;

const saysSkipped = {
  'no state': 'the log was cut at its beginning, and nobody knows the state they came upon',
  missing: 'lines before them are missing, as after a power cut or a full disk',
  unreadable: 'what is not of this format leaves nobody knowing the state of the rest',
  failed: 'this version could not decide the one before',
} as const;

const countOf = (count: number, what = 'line'): string => `${count} ${count === 1 ? what : `${what}s`}`;

/** "lines 4 to 9 not replayed, 2 of them not of this format: ...". */
function skippedText(skipped: Skipped): string {
  const { line, lines, why, unreadable } = skipped;
  if (lines === 0) return damageOf(skipped) ?? '';
  const which = lines === 1 ? `line ${line}` : `lines ${line} to ${line + lines - 1}`;
  const foreign = unreadable === undefined ? '' : `, ${unreadable} of them not of this format`;
  return `${which} not replayed${foreign}: ${saysSkipped[why]}`;
}

/** What is wrong with the log itself; undefined where only its beginning gave way, as it does with age. */
export function damageOf({ line, lines, why, unreadable, missing }: Skipped): string | undefined {
  const from = lines > 1 ? `lines ${line} to ${line + lines - 1}` : `line ${line}`;
  const foreign = unreadable === undefined ? [] : [`${countOf(unreadable)} in ${from} not of this format`];
  if (why !== 'missing') return foreign[0];
  const gone = missing === undefined ? `lines missing or in another order` : `${countOf(missing)} missing`;
  return [`${gone} before line ${line}`, ...foreign].join(', ');
}

function decisionLines({ at, input, mark, before, recorded }: Extract<ReplayItem, { kind: 'decision' }>): string[] {
  const isNothing = (mark.replies ?? []).length === 0 && (mark.events ?? []).length === 0;
  const changes = Object.entries(mark.partitions ?? {}).map(
    ([id, now]) => `    ${id}: ${before[id] ?? 'not there'} -> ${now}`,
  );
  return [
    `${time(at)}  ${inputText(input)}`,
    ...changes,
    ...outcomes(mark),
    ...(changes.length === 0 && isNothing && mark.rules.length > 0 ? [`    ${rulesOf(mark)}`] : []),
    ...(recorded === undefined ? [] : differences(mark, recorded)),
  ];
}

/** "refused: newer local change (C3)". */
function outcomes(mark: DecisionMark): string[] {
  const replies = (mark.replies ?? []).map((reply) => {
    const [outcome = '', code] = reply.split(' ');
    return code === undefined ? outcome : `${outcome} ${code}`;
  });
  const told = [...replies, ...(mark.events ?? [])];
  const rules = rulesOf(mark);
  if (told.length === 0) return mark.partitions !== undefined && rules !== '' ? [`    by ${rules}`] : [];
  return [`    ${told.join('; ')}${rules === '' ? '' : `: ${rules}`}`];
}

/** That a refusal changes nothing need not be said beside the rule that refused. */
function rulesOf({ rules }: DecisionMark): string {
  const telling = rules.filter((rule) => rule !== 'C9');
  return (telling.length === 0 ? rules : telling).map(ruleText).join(', ');
}

function differences(mark: DecisionMark, recorded: DecisionMark): string[] {
  const all = (one: DecisionMark) => [
    ...Object.entries(one.partitions ?? {}).map(([id, now]) => `${id} ${now}`),
    ...(one.replies ?? []),
    ...(one.events ?? []),
    ...one.rules,
  ];
  const text = (one: readonly string[]) => (one.length === 0 ? 'nothing' : one.join(', '));
  return [
    `    OTHERWISE THAN RECORDED: it was ${text(all(recorded).filter((word) => !all(mark).includes(word)))}, ` +
      `and is now ${text(all(mark).filter((word) => !all(recorded).includes(word)))}`,
  ];
}

function inputText(input: Input): string {
  switch (input.kind) {
    case 'command':
      return commandText(input.command);
    case 'panic':
      return `a call for help, ${input.call.kind}, ${input.call.partition ?? 'all'} (${input.call.source} ${input.call.client})`;
    case 'signal':
      return signalText(input.signal);
    case 'timer.fired':
      return `timer ${input.timer.replaceAll(':', ' ')} ended`;
    case 'tick':
      return 'the schedules look at the clock';
    case 'started':
      return `started${input.sameBoot ? '' : ', as did the machine'}${input.storeLost ? ', the store was lost' : ''}`;
    case 'storage':
      return `the disk: ${input.condition}`;
    case 'replanned':
      return 'a new plan was adopted';
    case 'security_type':
      return `security type ${input.securityType} (${input.by}${input.whileArmed ? ', also while armed' : ''})`;
    case 'arming.conflict':
      return `the cloud wants ${input.cloud}: conflict, ${input.reason}`;
    // Never in a log (safety 4).
    case 'duress':
      return '';
    case 'loss':
      return `events were lost: ${input.losses.length} records`;
  }
}

function commandText({
  verb,
  partition,
  mode,
  force,
  actor,
  source,
  client,
  code,
  schedule,
  minutes,
  zone,
}: Command): string {
  const by = actor === undefined ? '' : ` by ${actor}`;
  const with_ = code === 'none' ? 'no code' : `code ${code}`;
  const target =
    schedule === undefined ? (zone === undefined ? partition : `zone ${zone}`) : `${schedule} by ${minutes} min`;
  return `${verb} ${target}${mode === undefined ? '' : ` ${mode}`}${force === true ? ' forced' : ''}${by} (${source} ${client}, ${with_})`;
}

function signalText(signal: Signal): string {
  const { kind, source, ...rest } = signal;
  const members = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined || value === false ? (name === 'replay' ? [] : [`${name} no`]) : [memberText(name, value)],
  );
  // "zone 2, open" and not "zone zone 2, open".
  const said =
    members[0]?.startsWith(`${kind} `) === true ? members : [`${kind} ${members[0] ?? ''}`, ...members.slice(1)];
  return `${source.kind} ${source.id}: ${said.join(', ')}`;
}

const memberText = (name: string, value: string | number | true | object): string =>
  typeof value === 'object'
    ? name === 'waited'
      ? 'waited in the broker'
      : `${name} ${Object.values(value).join(' ')}`
    : value === true
      ? name === 'replay'
        ? 'as it stands'
        : name
      : `${name} ${value}`;

const time = (at: Stamp): string => `${isoTime(at.wall)}${at.clock === 'doubtful' ? ' (clock in doubt)' : ''}`;

const standing = (partitions: Standings): string =>
  Object.entries(partitions)
    .map(([id, words]) => `${id} ${words}`)
    .join('; ');
