import { securityTypes } from '#cloud/contract/index.ts';
import { atCloud, type ChangeOptions, carryOut, show } from '../cloud/change.ts';
import type { ExitCode } from '../exit-codes.ts';

const meanings: Readonly<Record<number, string>> = {
  [securityTypes.panelOnPrimaryBridge]: 'the panel on the primary bridge',
  [securityTypes.panelPerBridge]: 'a panel for each bridge',
  [securityTypes.videoSecurity]: 'siteward, with its cameras',
  [securityTypes.external]: 'another system; nothing is armed here',
};

/** `siteward arming source [type]`: what the arming settings of the cloud say. */
export const source = (options: ChangeOptions & { readonly type?: 1 | 2 | 3 | 4 }): Promise<ExitCode> =>
  atCloud(options, async ({ manage, place: params, signal }) => {
    const { value: from } = await manage.getArmingSettings({ params, signal });
    const { type } = options;
    const now = from.security_type;
    if (type === undefined)
      return show({ security_type: now ?? null, meaning: meanings[now ?? 0] ?? 'not understood' }, options);
    return carryOut(
      {
        what: `let ${meanings[type]} decide the arming`,
        ...{ target: `site ${params.siteId}`, from, to: { security_type: type } },
        noted: { action: 'arming_source_changed', site_id: params.siteId },
        act: async (signal) =>
          (await manage.updateArmingSettings({ params, body: { security_type: type }, signal })).value,
        after: () => 'this box follows within five minutes, and only when every partition is disarmed',
      },
      options,
    );
  });
