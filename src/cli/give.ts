import { randomUUID } from 'node:crypto';
import { type CommandAnswer, type CommandBody, commandAnswer } from '#lan/http/index.ts';
import { codePattern } from '#site/model/index.ts';
import { type Asked, advice } from './advice.ts';
import { hiddenTerminal } from './ask-code.ts';
import { answered, type Control, openControl } from './control.ts';
import { type ExitCode, exitCodes, exitOfReply } from './exit-codes.ts';
import { asCode, pipedCode } from './piped-code.ts';
import { alarmWords, zoneList } from './status-partitions.ts';

export interface GiveOptions {
  /** Ask for a code before anything else; otherwise only where the site wants one. */
  readonly ask: boolean;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** A panel may take two minutes to answer. */
const patienceMs = 130_000;

/** Gives one command and waits for its final answer. The code is asked for here and goes nowhere but to the daemon. */
export async function give(asked: Asked, { ask, codeStdin, json, socket }: GiveOptions): Promise<ExitCode> {
  const given = codeStdin ? await pipedCode() : ask ? await typed() : undefined;
  if (codeStandsIn(asked, given)) console.error('siteward: the reason is left out: a code stands in it');
  await using control = openControl(socket);
  let answer = await command(control, asked, given || undefined);
  // Not twice: who was asked and typed nothing has no code.
  const isWanted = answer.error?.code === 'CODE_REQUIRED' && given === undefined;
  const wanted = isWanted && !ask ? await typed() : undefined;
  if (wanted !== undefined && wanted !== '') answer = await command(control, asked, wanted);
  if (json) console.log(JSON.stringify(answer));
  else if (answer.error === undefined) console.log([sentence(asked, answer), ...zoneLines(asked, answer)].join('\n'));
  if (answer.error !== undefined) console.error(`siteward: ${advice(asked, answer)}`);
  // As with every verb that takes a code: nobody was there to be asked.
  return isWanted && wanted === undefined ? exitCodes.usage : exitOf(answer);
}

/** The daemon keeps no such reason, and does what is asked all the same: who gives the code may be calling for help (safety 1). */
const codeStandsIn = (asked: Asked, code: string | undefined): boolean =>
  asked.verb === 'bypass' &&
  asked.reason !== undefined &&
  (codePattern.test(asked.reason.trim()) || (code !== undefined && code !== '' && asked.reason.includes(code)));

/** Gives a command and waits for its final answer, a refusal included. */
export async function command({ client }: Control, asked: Asked, code: string | undefined): Promise<CommandAnswer> {
  const body = {
    ...asked,
    id: randomUUID(),
    issued_at: new Date().toISOString(),
    ...(code !== undefined && { code }),
  } as CommandBody;
  const signal = AbortSignal.timeout(patienceMs);
  const { json } = answered(await client.giveCommand({ body, signal, deadlineMs: patienceMs }));
  return commandAnswer.parse(json);
}

/** From a person, who may type nothing; undefined where nobody is there. Throws `code_refused` for what is no code. */
async function typed(): Promise<string | undefined> {
  using terminal = hiddenTerminal();
  const text = await terminal?.ask('code');
  return text === undefined || text === '' ? text : asCode(text);
}

function sentence(asked: Asked, { partition = 'all', outcome, state }: CommandAnswer): string {
  const who = partition === 'all' ? 'the site' : partition;
  const already = outcome === 'already' ? 'already ' : '';
  switch (asked.verb) {
    case 'bypass':
      return `zone ${asked.zone} is ${already}left out`;
    case 'unbypass':
      return already === '' ? `zone ${asked.zone} is watched again` : `zone ${asked.zone} was not left out`;
    case 'clear_memory':
      return `the alarm memory of ${who} is ${already}empty`;
    case 'test':
      return `the walk test of ${who} runs`;
    case 'end_test':
      return already === '' ? `the walk test of ${who} has ended` : `no walk test of ${who} was running`;
    default: {
      // Several partitions at once have no one state: with an exit delay some may be arming still.
      const several = asked.verb === 'arm' ? 'armed, or arms now' : 'disarmed';
      // A fire shows over the arming, which is what was asked for.
      const beneath = asked.verb === 'disarm' ? 'disarmed' : 'armed';
      const stands = state === undefined ? several : state === 'triggered' ? beneath : state.replaceAll('_', ' ');
      return `${who} is ${already}${stands}`;
    }
  }
}

/** What whoever gave the command must know of the zones: what is not watched, alarms that go on, what a walk test has shown. */
function zoneLines(asked: Asked, answer: CommandAnswer): string[] {
  const { alarms = [], tests = [], left_out: leftOut = [], zone_names: names = {} } = answer;
  const lasting = asked.verb === 'disarm' ? alarms : [];
  return [
    ...(leftOut.length === 0 ? [] : [`left out: ${zoneList(leftOut, names)}`]),
    ...lasting.map(
      ({ partition, ...alarm }) =>
        `${partition} IS STILL IN ALARM: ${alarmWords(alarm, names)}; it ends with its cause`,
    ),
    ...tests.flatMap(({ partition, walked, walked_zones, missed, missed_zones }) => [
      `${partition} walked: ${zonesOf(walked, walked_zones, names)}`,
      `${partition} missed: ${zonesOf(missed, missed_zones, names)}`,
    ]),
  ];
}

/** Of a long list only the first ones are named. */
const zonesOf = (count: number, named: readonly string[], names: CommandAnswer['zone_names']): string =>
  zoneList(named, names) + (count > named.length ? `, and ${count - named.length} more` : '');

function exitOf({ outcome, error }: CommandAnswer): ExitCode {
  if (outcome === 'done' || outcome === 'already') return exitCodes.ok;
  if (outcome === 'unconfirmed') return exitCodes.failure;
  return error === undefined ? exitCodes.refused : exitOfReply(error.code);
}
