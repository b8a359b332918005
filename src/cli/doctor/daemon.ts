import { docPage } from '../doc-page.ts';
import { otherAdvice, otherText } from '../runs-with.ts';
import { formatSpan } from '../table.ts';
import { type Check, type Finding, failed, good, silent, skipped, warning } from './finding.ts';

const look = 'look into its log: "journalctl -u siteward -n 50"';

/** Whether it runs, and each of its parts that is not well. */
export const daemonCheck: Check = {
  id: 'daemon',
  title: 'siteward',
  look({ daemon }): readonly Finding[] {
    const { status, pid, why, isHidden = false, other } = daemon;
    if (other !== undefined)
      return [
        failed({
          seen: otherText(other),
          means: 'it is not asked: what is said here is of the file and of this box',
          advice: otherAdvice(other),
        }),
      ];
    if (status === undefined && isHidden)
      return [
        warning({
          seen: `whether it runs cannot be told: ${why}`,
          means: 'what only siteward or root may see is not looked at',
          advice: 'run this as root, or as a member of the group siteward',
        }),
      ];
    if (status === undefined)
      return pid === undefined
        ? [
            failed({
              seen: `it does not run (${why})`,
              means: 'nothing is protected by this box, and no event is taken',
              advice: ['start it: "systemctl start siteward"', look],
            }),
          ]
        : [
            failed({
              seen: `process ${pid} runs and does not answer: ${why}`,
              means: 'it is starting, or it hangs',
              advice: look,
            }),
          ];
    const { version, uptime_s: up, ready, config, parts } = status;
    const runs = `version ${version} has run for ${formatSpan(up)}`;
    const found: Finding[] = ready
      ? [good(runs)]
      : [
          failed({
            seen: `${runs} and is not ready`,
            means: 'local protection does not work yet',
            advice: look,
          }),
        ];
    if (config.last_good)
      found.push(
        warning({
          seen: `it runs with an older configuration${config.error === undefined ? '' : `: ${config.error}`}`,
          means: 'what was changed in the file since does not count',
          advice: 'correct the file, see "configuration", then "systemctl reload siteward"',
        }),
      );
    for (const { name, state, reason = 'no reason is known' } of parts) {
      if (state === 'ok') continue;
      const what = {
        subject: name,
        seen: `${state}: ${reason}`,
        means: `the part "${name}" does not do all it should; the others go on`,
        advice: `what the line says; ${docPage('operations.md')} has it by symptom, and under "Parts of siteward" what "${name}" does`,
      };
      found.push(state === 'down' ? failed(what) : warning(what));
    }
    return found;
  },
};

/** What the site itself complains of. */
export const troublesCheck: Check = {
  id: 'troubles',
  title: 'troubles',
  look({ daemon: { status } }): readonly Finding[] {
    if (status === undefined) return [skipped(silent)];
    const troubles = status.troubles.map(({ kind, device, since, zone }) =>
      warning({
        subject: device,
        seen: `${kind}${zone === undefined ? '' : ` of zone ${zone}`}, since ${since}`,
        means: 'the station was told of it where it is to be told',
        advice: `look up ${kind} in ${docPage('operations.md')} under "Troubles"; "siteward events" has when it began`,
      }),
    );
    const hints = status.hints.map(({ device, about, text, values }) =>
      warning({
        subject: device,
        seen: [about, ...values].join(', '),
        means: 'something waits for a person',
        advice: text,
      }),
    );
    const found = [...troubles, ...hints];
    return found.length > 0 ? found : [good('none')];
  },
};
