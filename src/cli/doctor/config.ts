import { formatProblem } from '#config/index.ts';
import { type Check, type Finding, failed, good, warning } from './finding.ts';
import type { Unreadable } from './scene.ts';

/** The file and what it names: every error, and each secret that cannot be read. */
export const configCheck: Check = {
  id: 'configuration',
  title: 'configuration',
  look({ file, config, daemon: { other } }): readonly Finding[] {
    const { unreadable, problems, warnings } = config;
    if (unreadable !== undefined)
      return [
        failed({
          seen: unreadable.text,
          means:
            other === undefined
              ? 'siteward runs with the copy of its last good configuration, or waits for one'
              : 'no siteward starts with this file',
          advice: remedies(file, unreadable),
        }),
      ];
    const wrong = problems.map((problem) =>
      failed({
        seen: formatProblem(problem),
        means:
          other === undefined
            ? 'the file is not taken: siteward goes on with its last good configuration, and does not start without one'
            : 'no siteward takes this file',
        advice: `correct it, then "siteward check ${file}"${other === undefined ? ' and "systemctl reload-or-restart siteward"' : ''}`,
      }),
    );
    const doubtful = warnings.map((text) =>
      warning({
        seen: text,
        means: 'the part that needs it does not work, or not as the file says; all others do',
        advice: 'put it right where the line says; run this as root, which may read every secret file',
      }),
    );
    const found = [...wrong, ...doubtful];
    return found.length > 0 ? found : [good(`${file} has no errors`)];
  },
};

function remedies(file: string, { code = '' }: Unreadable): readonly string[] {
  const putBack = 'put it back: its last good copy is config.last-good.yaml in the state directory';
  const another = 'or name another one with --config';
  if (['EACCES', 'EPERM'].includes(code))
    return ['run this as root, or as a member of the group siteward', `look at ${file}`];
  if (['ENOENT', 'ENOTDIR'].includes(code))
    return [putBack, `on a new box begin one: "siteward setup --config ${file}"`, another];
  return [`look at ${file}: it is to be a text file in YAML`, putBack, another];
}
