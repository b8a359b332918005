import { SitewardError } from '#errors.ts';
import { type HiddenTerminal, mustAsk } from '../ask-code.ts';
import { asCode, pipedLines } from '../piped-code.ts';

/** Roles for whose codes the code of an owner is asked for as well. */
export const withConsent: readonly string[] = ['owner', 'installer', 'auditor'];

export interface CodesWanted {
  readonly id: string;
  readonly duress: boolean;
  /** Ask for the code of an owner, who agrees. */
  readonly consent: boolean;
}

export interface GivenCodes {
  readonly code: string;
  readonly duress_code?: string;
  readonly consent?: string;
}

/** From a person at the terminal: each new code twice. Throws `no_terminal`, `stopped`, `code_refused`. */
export async function askedCodes(wanted: CodesWanted): Promise<GivenCodes> {
  using terminal = mustAsk();
  const code = await twice(terminal, `code of ${wanted.id}, 4 to 12 digits`);
  const duress = wanted.duress ? await twice(terminal, `duress code of ${wanted.id}`) : undefined;
  const consent = wanted.consent ? await terminal.ask('code of an owner, who agrees; empty if there is none') : '';
  if (consent !== '') asCode(consent, 'the code of an owner');
  return {
    code,
    ...(duress !== undefined && { duress_code: duress }),
    ...(consent !== '' && { consent }),
  };
}

async function twice(terminal: HiddenTerminal, what: string): Promise<string> {
  const first = asCode(await terminal.ask(what), 'the code');
  if ((await terminal.ask('once more')) === first) return first;
  throw new SitewardError('code_refused', 'the two are not the same; nothing was changed');
}

/** Throws `code_refused`. One a line: the code, the duress code where one is wanted, the code of an owner where one is given. */
export async function pipedCodes(wanted: CodesWanted, input?: AsyncIterable<Buffer>): Promise<GivenCodes> {
  const most = 1 + Number(wanted.duress) + Number(wanted.consent);
  const [code = '', ...rest] = await pipedLines(most, input);
  const duress = wanted.duress ? rest.shift() : undefined;
  const consent = wanted.consent ? rest.shift() : undefined;
  if (code === '' || (wanted.duress && duress === undefined) || rest.length > 0) {
    const order = ['the code', ...(wanted.duress ? ['the duress code'] : [])];
    const more = wanted.consent ? ', and the code of an owner if there is one' : '';
    throw new SitewardError('code_refused', `standard input must hold one a line: ${order.join(', ')}${more}`);
  }
  return {
    code: asCode(code, 'the code'),
    ...(duress !== undefined && { duress_code: asCode(duress, 'the duress code') }),
    ...(consent !== undefined && { consent: asCode(consent, 'the code of an owner') }),
  };
}
