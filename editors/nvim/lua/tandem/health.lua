--- `:checkhealth tandem`
local M = {}

function M.check()
  local health = vim.health
  health.start('tandem')
  if vim.fn.has('nvim-0.10') == 0 then
    health.error('Neovim 0.10 or later is needed')
    return
  end
  health.ok('Neovim ' .. tostring(vim.version()))
  local ok, config = pcall(require('tandem.config').get)
  if not ok then
    health.error(tostring(config))
    return
  end
  if vim.fn.executable(config.binary) == 0 then
    health.error(('%q is not a program'):format(config.binary), { 'Install tandem, or set vim.g.tandem.binary' })
    return
  end
  local result = vim.system({ config.binary, 'version' }, { text = true }):wait(5000)
  if result.code == 0 then
    health.ok(('%s: %s'):format(vim.fn.exepath(config.binary), vim.trim(result.stdout)))
  else
    health.error(('%s does not run: %s'):format(config.binary, vim.trim(result.stderr or '')))
  end
end

return M
