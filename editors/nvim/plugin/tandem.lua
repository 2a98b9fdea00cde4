if vim.g.loaded_tandem then
  return
end
vim.g.loaded_tandem = true

local function command(name, fn, options)
  vim.api.nvim_create_user_command(name, fn, options)
end

command('Tandem', function(event)
  require('tandem').ask(event.args, event.range > 0 and { event.line1, event.line2 } or nil)
end, { nargs = '*', range = true, desc = 'Ask the agent, or open its chat' })

command('TandemCancel', function()
  require('tandem').cancel()
end, { desc = 'End the running turn' })

command('TandemUndo', function()
  require('tandem').undo()
end, { desc = 'Take back the changes of the last turn' })

command('TandemStop', function()
  require('tandem').stop()
end, { desc = 'End the server of this workspace' })
