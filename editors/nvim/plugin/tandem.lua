if vim.g.loaded_tandem then
  return
end
vim.g.loaded_tandem = true

vim.api.nvim_create_user_command('Tandem', function(event)
  require('tandem.commands').run(event.args, event.range > 0 and { event.line1, event.line2 } or nil)
end, {
  nargs = '*',
  range = true,
  desc = 'Ask the agent, or open its chat',
  complete = function(lead, line)
    return require('tandem.commands').complete(lead, line)
  end,
})

for _, name in ipairs({ 'ask', 'accept', 'reject', 'next', 'prev', 'diff', 'undo', 'stop', 'new', 'answer' }) do
  vim.keymap.set({ 'n', 'x' }, ('<Plug>(tandem-%s)'):format(name), (':Tandem %s<CR>'):format(name), { silent = true })
end
for _, what in ipairs({ 'accept', 'reject' }) do
  vim.keymap.set('n', ('<Plug>(tandem-%s-all)'):format(what), ('<Cmd>Tandem %s all<CR>'):format(what))
end

-- Where changes of the agent wait in some folder, somebody has to look whether that is this one.
local function look()
  if vim.uv.fs_stat(vim.fn.stdpath('state') .. '/tandem/review') then
    require('tandem.sessions').watch()
  end
end
if vim.v.vim_did_enter == 1 then
  look()
else
  vim.api.nvim_create_autocmd('UIEnter', { once = true, callback = look }) -- a Neovim without a screen marks nothing
end
