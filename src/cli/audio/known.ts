import { nearest } from '#config/nearest.ts';
import { SitewardError } from '#errors.ts';
import { messageList, speakerList } from '#lan/http/index.ts';
import type { AudioMessageShown } from '#site/model/index.ts';
import { answered, type Control, patience } from '../control.ts';

/** The key of the one message that is called so; what is a key or an id already comes back as it is. */
export async function keyOf(control: Control, given: string): Promise<string> {
  const messages = await messagesOf(control);
  if (isKnown(messages, given)) return given;
  const [one, ...others] = messages.filter(({ name }) => name === given);
  return one !== undefined && others.length === 0 ? one.key : given;
}

/** Says what was meant, and what shows it, where `work` finds no such message or speaker. */
export async function orHint<T>(
  control: Control,
  asked: { readonly message: string; readonly speakers?: readonly string[] },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SitewardError) || error.code !== 'audio_unknown') throw error;
    const hint = await hintOf(control, asked);
    throw new SitewardError(error.code, `${error.message}${hint}`, { facts: error.facts, cause: error });
  }
}

async function hintOf(
  control: Control,
  { message, speakers = [] }: { readonly message: string; readonly speakers?: readonly string[] },
): Promise<string> {
  const messages = await messagesOf(control);
  const keys = messages.map(({ key }) => key);
  // The daemon looks at the message first, and takes one of another language as well.
  if (!isKnown(messages, message) && !keys.some((key) => key.startsWith(`${message}.`)))
    return `${meant(message, keys)} "siteward audio list" shows the keys`;
  const { items } = speakerList.parse(answered(await control.client.listSpeakers({ signal: patience() })).json);
  const ids = items.map(({ device_id }) => device_id as string);
  const wrong = speakers.find((id) => !ids.includes(id));
  return wrong === undefined ? '' : `${meant(wrong, ids)} "siteward audio status" shows the speakers`;
}

function meant(given: string, candidates: readonly string[]): string {
  const near = nearest(given, candidates);
  return near === undefined ? '.' : `; did you mean ${near}?`;
}

const isKnown = (messages: readonly AudioMessageShown[], given: string): boolean =>
  messages.some(({ key, audio_message_id: id }) => key === given || id === given);

async function messagesOf({ client }: Control): Promise<readonly AudioMessageShown[]> {
  return messageList.parse(answered(await client.listMessages({ signal: patience() })).json).items;
}
