import { useWords } from './context.ts';
import { Card, Choice, Field } from './parts.tsx';
import { sectionNow, textOf } from './pending.ts';
import type { TextKey } from './text.ts';
import type { Setup } from './use-setup.ts';

/** Members of the section `site` that are texts. */
const members = ['name', 'timezone', 'id', 'dealer_id', 'account_reference_id', 'language'] as const;
const hints: Readonly<Partial<Record<(typeof members)[number], TextKey>>> = {
  id: 'setup.site.idHint',
  dealer_id: 'setup.site.idHint',
  language: 'setup.site.languageHint',
};
const needed: readonly string[] = ['id', 'timezone'];

export function SetupSite({ setup }: { setup: Setup }) {
  const { t } = useWords();
  const { config, changes, put, against } = setup;
  const site = sectionNow(config, changes, 'site');
  const set = (name: string, value: unknown) => put({ do: 'set', section: 'site', members: { [name]: value } });
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Card title={t('setup.site')}>
      <p class="hint">{t('setup.site.fixed', { id: textOf(site, 'external_id') })}</p>
      {members.map((name) => {
        const hint = name === 'timezone' ? t('setup.site.zoneHint', { zone }) : hints[name] && t(hints[name]);
        return (
          <Field
            key={name}
            {...{
              name: `site-${name}`,
              label: t(`setup.site.${name}`),
              value: textOf(site, name),
              autocomplete: 'off',
            }}
            {...(hint !== undefined && { hint })}
            required={needed.includes(name)}
            fault={against(`site.${name}`)}
            onInput={(value) => set(name, value === '' ? null : value)}
          />
        );
      })}
      <Choice
        {...{ name: 'site-security-type', label: t('setup.site.security_type') }}
        value={textOf(site, 'security_type')}
        options={[
          ['', t('setup.site.security.unset')],
          ['1', t('setup.site.security.1')],
          ['2', t('setup.site.security.2')],
          ['3', t('setup.site.security.3')],
          ['4', t('setup.site.security.4')],
        ]}
        fault={against('site.security_type')}
        onInput={(value) => set('security_type', value === '' ? null : Number(value))}
      />
    </Card>
  );
}
