import { useEffect, useState } from 'preact/hooks';
import { useWords } from './context.ts';
import { keep, kept } from './kept.ts';
import { languageNames } from './text.ts';

/** `device`: as the phone has it. */
const themes = ['device', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const themeKey = 'siteward.theme';

/** What was kept may be anything. Pure. */
const themeOf = (value: string | null): Theme => themes.find((theme) => theme === value) ?? 'device';

/** The style has the colours of both; it reads the attribute. */
function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(() => themeOf(kept(themeKey)));
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return [
    theme,
    (next) => {
      setTheme(next);
      keep(themeKey, next);
    },
  ];
}

/** The language and the colours of the page, for whoever looks at it. */
export function Look(props: { language: string; onLanguage: (language: string) => void }) {
  const { t, word } = useWords();
  const [theme, setTheme] = useTheme();
  return (
    <p class="buttons">
      <label>
        {t('own.language')}{' '}
        <select value={props.language} onChange={(event) => props.onLanguage(event.currentTarget.value)}>
          {Object.entries(languageNames).map(([language, name]) => (
            <option key={language} value={language} lang={language}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t('own.theme')}{' '}
        <select value={theme} onChange={(event) => setTheme(themeOf(event.currentTarget.value))}>
          {themes.map((one) => (
            <option key={one} value={one}>
              {word('theme', one)}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}
