import { changeEntry } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { certificateAnswer, trustedAnswer } from '#lan/http/index.ts';
import { agreed } from '../consent.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { openSiteFile, writeSiteFile } from '../site-file.ts';
import { printable } from '../table.ts';
import { finish, refused } from './change.ts';
import { placesOf } from './config.ts';

export interface TrustOptions {
  readonly fingerprint?: string;
  readonly device?: string;
  readonly config: string;
  readonly reload: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward camera trust ID`: the certificate a person has compared is the camera's own, and no other it may show by now. */
export async function trust(id: string, options: TrustOptions): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { client } = control;
  const seen = answered(await client.cameraCertificate({ params: { id }, signal: patience() }));
  const { device, stream, ...own } = certificateAnswer.parse(seen.json);
  if (
    options.device !== undefined ||
    (device !== undefined && own.shown === undefined && options.fingerprint === undefined)
  ) {
    return await trustDevice(client, id, device, options);
  }
  // What the configuration names is the device's own, and no other port's.
  const named = options.fingerprint?.toUpperCase();
  const isStream =
    stream !== undefined &&
    (named === undefined ? own.shown === undefined : named === stream.shown && named !== own.shown);
  const { trusted, shown, configured } = isStream ? { trusted: undefined, configured: false, ...stream } : own;
  if (isStream) console.error('at its stream, or for pictures at another port:');
  console.error(`trusted until now: ${trusted ?? 'none'}`);
  console.error(`shown now:         ${shown ?? trusted ?? 'none'}`);
  const fingerprint = options.fingerprint ?? shown ?? trusted;
  if (options.fingerprint === undefined && shown !== undefined) {
    const question = `Does the page of ${id} itself, or who set it up, name ${shown}?`;
    const unsaid = await confirmed(question, 'say --fingerprint with the one that was compared');
    if (unsaid !== undefined) return unsaid;
  }
  if (fingerprint === undefined) {
    console.error(`siteward: no certificate of ${id} was refused or remembered`);
    return exitCodes.refused;
  }
  if (configured) {
    if (fingerprint.toUpperCase() !== (shown ?? trusted))
      throw refused(`${id} shows ${shown ?? trusted}, not ${printable(fingerprint)}; compare it again`);
    return await writeFingerprint(id, fingerprint.toUpperCase(), client, options);
  }
  const { json } = answered(await client.trustCamera({ params: { id }, body: { fingerprint }, signal: patience() }));
  const answer = trustedAnswer.parse(json);
  if (options.json) console.log(JSON.stringify(answer));
  else
    console.log(
      `the certificate of ${isStream ? 'the stream of ' : ''}${answer.trusted} is ${answer.fingerprint}; no other is accepted from now on`,
    );
  return exitCodes.ok;
}

/** Undefined where a person agreed; else what to end with. Throws `no_terminal` where nobody can be asked. */
async function confirmed(question: string, how: string): Promise<ExitCode | undefined> {
  const answer = await agreed(question);
  if (answer === 'yes') return undefined;
  if (answer !== 'no') throw new SitewardError('no_terminal', `nobody is there to be asked; ${how}`);
  console.error('siteward: nothing was changed');
  return exitCodes.failure;
}

/** Where the configuration names the certificate, that is the place to name the new one: a reload must not bring the old back. */
async function writeFingerprint(
  id: string,
  fingerprint: string,
  client: Client,
  options: TrustOptions,
): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const place = placesOf(site.settings).find((one) => one.id === id);
  if (place === undefined)
    throw new SitewardError(
      'camera_unknown',
      `${site.file} has no camera or recorder ${id}; name the file siteward runs with by --config`,
    );
  await writeSiteFile(site, changeEntry(site.text, place.section, place.index, { tls_fingerprint: fingerprint }));
  const trusted = place.nvr ?? id;
  if (options.json) console.log(JSON.stringify({ trusted, fingerprint, written: true }));
  const done = `tls_fingerprint of ${trusted} is ${fingerprint} in ${site.file}`;
  return await finish(site, { ...options, dryRun: false }, done, async () => {
    const now = answered(await client.cameraCertificate({ params: { id }, signal: patience() }));
    return certificateAnswer.parse(now.json).trusted === fingerprint;
  });
}

type Client = ReturnType<typeof openControl>['client'];

/** The device a person has looked at, and no other that may answer by now. */
async function trustDevice(
  client: Client,
  id: string,
  seen: { readonly was: string; readonly is: string } | undefined,
  options: TrustOptions,
): Promise<ExitCode> {
  if (seen !== undefined) console.error(`was: ${printable(seen.was)}\nis:  ${printable(seen.is)}`);
  const device = options.device ?? seen?.is;
  if (device === undefined) return exitCodes.refused;
  if (options.device === undefined) {
    const question = `Is ${printable(device)} the device that is meant at ${id}?`;
    const unsaid = await confirmed(question, 'say --device with the name it has now');
    if (unsaid !== undefined) return unsaid;
  }
  const signal = patience();
  const answer = trustedAnswer.parse(
    answered(await client.trustCamera({ params: { id }, body: { device }, signal })).json,
  );
  if (options.json) console.log(JSON.stringify(answer));
  else console.log(`${answer.trusted} is ${printable(device)} from now on`);
  return exitCodes.ok;
}
