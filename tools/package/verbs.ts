import type { Argument, Command, Option } from 'commander';
import { buildProgram } from '../../src/cli/program.ts';

/** A verb as `--help` shows it. */
export interface Verb {
  /** With those above it, as "siteward camera add". */
  readonly name: string;
  readonly synopsis: string;
  readonly description: string;
  readonly args: readonly Argument[];
  readonly options: readonly Option[];
  readonly below: readonly Verb[];
}

/** The tree of verbs, made by the program itself. */
export const verbTree = (): Verb =>
  read(
    buildProgram(() => undefined),
    [],
  );

function read(command: Command, parents: readonly string[]): Verb {
  const help = command.createHelp();
  const name = [...parents, command.name()].join(' ');
  return {
    name,
    synopsis: `${name} ${command.usage()}`.trim(),
    description: command.description(),
    args: command.registeredArguments,
    options: help.visibleOptions(command),
    below: help
      .visibleCommands(command)
      .filter((one) => one.name() !== 'help')
      .map((one) => read(one, [...parents, command.name()])),
  };
}

/** What help says behind an option: its meaning, its choices and its default. */
export function optionText({ description, argChoices, defaultValue, envVar }: Option): string {
  const more = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(typeof defaultValue === 'string' || typeof defaultValue === 'number' ? [`default: ${defaultValue}`] : []),
    ...(envVar === undefined ? [] : [`variable: ${envVar}`]),
  ];
  return more.length === 0 ? description : `${description} (${more.join('; ')})`;
}

/** All verbs below one another, the program itself first. */
export const allVerbs = (verb: Verb): readonly Verb[] => [verb, ...verb.below.flatMap(allVerbs)];
