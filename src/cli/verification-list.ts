import { verificationList } from '#lan/http/index.ts';
import { isPending, type VerificationDocument, verificationDocument } from '#site/model/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { formatSpan, table } from './table.ts';

/** `siteward verification list`. */
export async function list(options: { open: boolean; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.listVerifications({ signal: patience() }));
  const { items } = verificationList.parse(json);
  const wanted = options.open ? items.filter(isPending) : items;
  if (options.json) for (const one of wanted) console.log(JSON.stringify(one));
  else if (wanted.length === 0) console.log(options.open ? 'nothing waits for an answer' : 'no verifications');
  else console.log(table(wanted.map(row)));
  return exitCodes.ok;
}

/** `siteward verification show`. */
export async function show(options: { id: string; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const answer = answered(await control.client.getVerification({ params: { id: options.id }, signal: patience() }));
  const one = verificationDocument.parse(answer.json);
  console.log(options.json ? answer.text : page(one));
  return exitCodes.ok;
}

/** What is to be done comes first; an end is said in words. */
const words: Readonly<Record<VerificationDocument['state'], string>> = {
  open: 'OPEN',
  waiting: 'answered, on its way',
  recorded: 'recorded',
  gone: 'TOO LATE: the service knew it no more',
  refused: 'REFUSED by the service',
  unsent: 'NOT SENT before the deadline',
  expired: 'expired without an answer',
};

function row(one: VerificationDocument): string[] {
  const given = one.answers.at(-1);
  return [
    one.verification_id,
    words[one.state],
    isPending(one) ? until(one) : '',
    given === undefined ? `asks contact ${one.contact_id}` : `${given.action} by ${given.by}`,
    about(one),
  ];
}

function until({ expires_at: expires }: VerificationDocument): string {
  const leftS = (Date.parse(expires) - Date.now()) / 1000;
  return leftS > 0 ? `${formatSpan(leftS)} left` : 'deadline has passed';
}

const about = ({ kind, partition, zone, event_id: event }: VerificationDocument): string =>
  [kind, partition, zone === undefined ? undefined : `zone ${zone}`, kind === undefined ? event : undefined]
    .filter((part) => part !== undefined)
    .join(' ');

function page(one: VerificationDocument): string {
  const facts = [
    ['state', words[one.state]],
    ['contact', String(one.contact_id)],
    ['asked', one.asked_at],
    ['deadline', isPending(one) ? `${one.expires_at}, ${until(one)}` : one.expires_at],
    ...(one.event_id === undefined ? [] : [['event', one.event_id]]),
    ...(one.incident_id === undefined ? [] : [['incident', one.incident_id]]),
    ...(about(one) === '' || one.kind === undefined ? [] : [['about', about(one)]]),
  ];
  const answers = one.answers.map((given) => [
    given.responded_at,
    given.action,
    `by ${given.by}, contact ${given.contact_id}`,
    given.fate === 'waiting' ? 'on its way' : `${given.fate} ${given.fate_at ?? ''}`,
    given.reason ?? '',
  ]);
  return [`verification ${one.verification_id}`, table(facts, '  '), table(answers, '  ')]
    .filter((text) => text !== '')
    .join('\n');
}
