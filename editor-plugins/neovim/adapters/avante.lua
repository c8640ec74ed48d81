-- acp-adapter in avante.nvim: put this into your init.lua. Then :AvanteAsk asks it.
-- It starts an agent with PATH alone, so your keys and folders have to be passed on.
-- `acp-adapter setup` prints the same with the full path of your installation.
require("avante").setup({
  provider = "acp-adapter",
  acp_providers = {
    ["acp-adapter"] = { command = "acp-adapter", args = {}, env = vim.fn.environ() },
  },
})
