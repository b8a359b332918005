import type { CodeCheck, Command } from '#site/model/index.ts';
import type { ParsedCommand } from './parse.ts';

type Parsed = Exclude<ParsedCommand, { verb: 'query' | 'ping' | 'verify' }>;
type Body<V extends Parsed['verb']> = Extract<Parsed, { verb: V }>['body'];

/** A command of the LAN as the gate takes it. `on: false` is another verb there, so that the audit log says which. */
export function siteCommand(parsed: Parsed, client: string, check: CodeCheck): Command {
  const { body } = parsed;
  return {
    id: body.id,
    ...membersOf(parsed),
    issuedAt: parsed.issuedAt,
    ...(parsed.expiresAt === undefined ? {} : { expiresAt: parsed.expiresAt }),
    ...(body.expected === undefined ? {} : { expected: body.expected }),
    source: 'lan',
    client,
    // Who it was only a code has shown; what the client writes stands nowhere (safety 10).
    ...(check.actor === undefined ? {} : { actor: check.actor }),
    ...(check.role === undefined ? {} : { role: check.role }),
    code: check.code,
    bodyHash: parsed.bodyHash,
  };
}

function membersOf(parsed: Parsed): Pick<Command, 'verb' | 'partition'> & Partial<Command> {
  switch (parsed.verb) {
    case 'arm':
      return { verb: 'arm', ...targetOf(parsed.body), ...armOf(parsed.body) };
    case 'bypass':
      return { verb: parsed.body.on ? 'bypass' : 'unbypass', ...bypassOf(parsed.body) };
    case 'test':
      return { verb: parsed.body.on ? 'test' : 'end_test', ...targetOf(parsed.body), ...testOf(parsed.body) };
    case 'snapshot':
    case 'play':
    case 'cancel':
    case 'dispatch':
    case 'watch':
      return { verb: parsed.verb, partition: 'all' };
    case 'postpone': {
      const { schedule, minutes } = parsed.body;
      return { verb: 'postpone', partition: 'all', schedule, minutes };
    }
    default:
      return { verb: parsed.verb, ...targetOf(parsed.body) };
  }
}

const targetOf = ({ partition }: { readonly partition: string }) => ({ partition: partition as Command['partition'] });

const armOf = (body: Body<'arm'>) => ({
  mode: body.mode,
  ...(body.force === undefined ? {} : { force: body.force }),
  ...(body.bypass === undefined ? {} : { bypass: body.bypass }),
  ...(body.skip_exit_delay === undefined ? {} : { skipExitDelay: body.skip_exit_delay }),
});

/** The gate finds the partition by the zone. */
const bypassOf = ({ zone, until, minutes, reason }: Body<'bypass'>) => ({
  partition: 'all' as const,
  zone,
  ...(until === undefined ? {} : { until }),
  ...(minutes === undefined ? {} : { minutes }),
  ...(reason === undefined ? {} : { reason }),
});

const testOf = ({ minutes, zones }: Body<'test'>) => ({
  ...(minutes === undefined ? {} : { minutes }),
  ...(zones === undefined ? {} : { zones }),
});
