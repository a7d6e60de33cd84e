// The path of a stranger, by keyboard alone and by touch alone: ask an example, read its steps, edit the
// message, go between the versions, stop a turn, find the first conversation again, rename it, delete
// another one and undo that.
import assert from 'node:assert/strict';
import { counts, tabTo, text } from '../page.mjs';

export async function pathByKeyboard(v) {
  const { keyboard } = v.page;
  const at = (testid) => tabTo(v.page, `[data-testid=${testid}]`);
  await at('example');
  await keyboard.press('Enter');
  await v.turn('done');
  await tabTo(v.page, '[data-testid=steps]', 'Shift+Tab');
  await keyboard.press('Enter');
  await v.at('tool-card').waitFor();
  await v.page.locator('#input').focus(); // F6 goes there as well
  await keyboard.press('ArrowUp');
  await v.at('editor').waitFor();
  await keyboard.press('Control+a');
  await keyboard.type('What is on my list?');
  await keyboard.press('Enter');
  await v.at('sure').waitFor(); // it used a tool that writes
  await tabTo(v.page, '[data-testid=sure]');
  await keyboard.press('Enter');
  await v.at('question').getByText('What is on my list?').waitFor();
  await v.turn('done');
  await tabTo(v.page, '[aria-label="Previous version"]', 'Shift+Tab');
  await keyboard.press('Enter');
  await v.at('question').getByText('Remind me to buy eggs').waitFor();

  await keyboard.press('Control+Shift+O');
  await v.at('empty').waitFor();
  await v.page.waitForFunction(() => document.activeElement.id === 'input');
  await keyboard.type('Add milk, bread and butter to my list');
  await keyboard.press('Enter');
  await v.page.locator('[data-testid=turn][data-state=running]').waitFor();
  await keyboard.press('Escape');
  await v.page.locator('[data-testid=turn]').and(v.page.locator('[data-state=stopped], [data-state=done]')).waitFor();

  await keyboard.press('Control+k');
  await keyboard.type('eggs');
  await counts(v.at('talk'), 1);
  await tabTo(v.page, '[data-testid=talk] > a');
  await keyboard.press('Enter');
  await v.at('question').getByText('Remind me to buy eggs').waitFor();
  await keyboard.press('Control+k');
  await keyboard.press('Control+a');
  await keyboard.press('Delete');
  await counts(v.at('talk'), 2);
  await tabTo(v.page, '[data-testid=talk] [data-testid=more]');
  await keyboard.press('Enter');
  await v.page.locator('[data-testid=rename]:focus').waitFor();
  await keyboard.press('Enter');
  await v.page.locator('[data-testid=title-field]:focus').waitFor();
  await keyboard.press('Control+a');
  await keyboard.type('Shopping');
  await keyboard.press('Enter');
  await v.at('talk').getByText('Shopping').waitFor();
  await tabTo(v.page, '[data-testid=talk] [data-testid=more]');
  await keyboard.press('Enter');
  await keyboard.press('End');
  await v.page.locator('[data-testid=ask-delete]:focus').waitFor();
  await keyboard.press('Enter');
  await v.page.locator('[data-testid=delete]:focus').waitFor();
  await keyboard.press('Enter');
  await v.at('undo').waitFor();
  await counts(v.at('talk'), 1);
  await tabTo(v.page, '[data-testid=undo]', 'Shift+Tab');
  await keyboard.press('Enter');
  await v.at('talk').nth(1).waitFor();
}

export async function pathByTouch(v) {
  await v.at('example').first().tap();
  await v.turn('done');
  await v.at('steps').tap();
  await v.at('tool-card').waitFor();
  await v.at('edit').tap();
  await v.at('editor').fill('What is on my list?');
  await v.at('send-edit').tap();
  await v.at('sure').tap();
  await v.at('question').getByText('What is on my list?').waitFor();
  await v.turn('done');
  await v.page.getByRole('button', { name: 'Previous version' }).tap();
  await v.at('question').getByText('Remind me to buy eggs').waitFor();

  await v.at('new-narrow').tap();
  await v.at('empty').waitFor();
  await v.at('input').fill('Add milk, bread and butter to my list');
  await v.at('send').tap();
  await v.page.locator('[data-testid=turn]').and(v.page.locator('[data-state=stopped], [data-state=done]')).waitFor();

  await v.at('open-list').tap();
  await v.at('search').fill('eggs');
  await v.at('talk').getByRole('link').tap();
  await v.at('question').getByText('Remind me to buy eggs').waitFor();
  await v.at('open-list').tap();
  await v.at('search').fill('');
  await v.at('talk').nth(1).getByTestId('more').tap();
  await v.at('rename').tap();
  await v.at('title-field').fill('Shopping');
  await v.page.keyboard.press('Enter');
  await v.at('talk').getByText('Shopping').waitFor();
  await v.at('talk').first().getByTestId('more').tap();
  await v.at('ask-delete').tap();
  await v.at('delete').tap();
  await v.at('undo').tap();
  await v.at('open-list').waitFor();
  assert.equal(await v.page.evaluate(() => document.documentElement.scrollWidth), 390);
  const high = await v.page.evaluate(() => (document.querySelector('.top').getBoundingClientRect().height + document.getElementById('ask').getBoundingClientRect().height) / innerHeight);
  assert.ok(high <= 0.22, `header and box have ${high} of the height`);
  await v.page.goto(v.page.url());
  await v.known();
  assert.match(await text(v.at('title')), /\S/);
}
pathByTouch.options = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
