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
