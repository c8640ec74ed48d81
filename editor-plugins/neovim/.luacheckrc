std = "luajit"
read_globals = { "vim" }
globals = { "vim.bo", "vim.wo", "vim.b", "vim.g", "vim.w", "vim.o", "vim.v" }
max_line_length = 120
